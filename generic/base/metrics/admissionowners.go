package metrics

import "github.com/prometheus/client_golang/prometheus"

// FollowWebhooks deletes series of a phase's webhooks when names no longer returns them. It must be called once
// per plugin.
func (a *Admission) FollowWebhooks(phase AdmissionPhase, names func() []string) {
	if a == nil {
		return
	}
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	a.webhookNames[phase] = append(a.webhookNames[phase], names)
}

// FollowPolicies is FollowWebhooks for policies, with the names of their bindings.
func (a *Admission) FollowPolicies(phase AdmissionPhase, names func() map[string][]string) {
	if a == nil {
		return
	}
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	a.policyNames[phase] = append(a.policyNames[phase], names)
}

// Prune deletes the series of deleted webhooks and policies. Series that calls in progress create afterwards
// are deleted when metrics are gathered.
func (a *Admission) Prune() {
	if a != nil {
		a.owners.prune()
	}
}

// followOwners registers the vectors whose series are deleted with their webhook or policy.
func (a *Admission) followOwners() {
	w := &a.webhook
	a.owners.follow(func() func(prometheus.Labels) bool {
		webhooks := a.webhooksNow()
		return func(l prometheus.Labels) bool { return webhooks[l["type"]].has(l["name"]) }
	}, w.took.MetricVec, w.calls.MetricVec, w.rejections.MetricVec, w.failedOpens.MetricVec)
	c := &a.conditions
	a.owners.follow(func() func(prometheus.Labels) bool {
		webhooks, policies := a.webhooksNow(), a.policiesNow()
		return func(l prometheus.Labels) bool {
			if l["kind"] == "policy" {
				return policies[l["type"]].has(l["name"])
			}
			return webhooks[l["type"]].has(l["name"])
		}
	}, c.took.MetricVec, c.errors.MetricVec, c.exclusions.MetricVec)
	for phase, m := range map[AdmissionPhase]*policyMetrics{Admit: &a.mutating, Validate: &a.validating} {
		a.owners.follow(func() func(prometheus.Labels) bool {
			policies := a.policiesNow()[phase.called()]
			return func(l prometheus.Labels) bool { return policies.has(l["policy"], l["policy_binding"]) }
		}, m.took.MetricVec, m.checks.MetricVec)
	}
}

// nameSet is a set of names. A nil nameSet contains all names.
type nameSet map[[2]string]bool

// has reports whether the set contains a name or a pair of names.
func (s nameSet) has(names ...string) bool {
	var key [2]string
	copy(key[:], names)
	return s == nil || s[key]
}

// webhooksNow returns the names of webhooks by the label "type".
func (a *Admission) webhooksNow() map[string]nameSet {
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	now := map[string]nameSet{}
	for phase, followed := range a.webhookNames {
		for _, names := range followed {
			set := setOf(now, AdmissionPhase(phase))
			for _, n := range names() {
				set[[2]string{n}] = true
			}
		}
	}
	return now
}

// policiesNow returns the names of policies, without and with each of their bindings.
func (a *Admission) policiesNow() map[string]nameSet {
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	now := map[string]nameSet{}
	for phase, followed := range a.policyNames {
		for _, names := range followed {
			set := setOf(now, AdmissionPhase(phase))
			for policy, bindings := range names() {
				set[[2]string{policy}] = true
				for _, b := range bindings {
					set[[2]string{policy, b}] = true
				}
			}
		}
	}
	return now
}

func setOf(all map[string]nameSet, phase AdmissionPhase) nameSet {
	if all[phase.called()] == nil {
		all[phase.called()] = nameSet{}
	}
	return all[phase.called()]
}
