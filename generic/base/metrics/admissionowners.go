package metrics

import "github.com/prometheus/client_golang/prometheus"

// FollowWebhooks removes the series of webhooks of a phase that names does not return any more. It is called
// once for each plugin.
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

// Prune removes the series of webhooks and policies that do not exist. It is called when some were removed;
// what is counted after that for calls under way is removed when metrics are gathered.
func (a *Admission) Prune() {
	if a != nil {
		a.owners.prune()
	}
}

// followOwners has the series of webhooks and policies follow them.
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

// nameSet holds the names that exist; a nil set contains all names.
type nameSet map[[2]string]bool

// has reports whether a name exists or, with a second one, a pair of names.
func (s nameSet) has(names ...string) bool {
	var key [2]string
	copy(key[:], names)
	return s == nil || s[key]
}

// webhooksNow are the names of webhooks by the label "type".
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

// policiesNow are the names of policies, alone and with each of their bindings.
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
