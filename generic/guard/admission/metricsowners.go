package admission

import (
	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/metrics"
)

// FollowWebhooks deletes series of a phase's webhooks when names no longer returns them. It must be called once
// per plugin.
func (a *Metrics) FollowWebhooks(phase Phase, names func() []string) {
	if a == nil {
		return
	}
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	a.webhookNames[phase] = append(a.webhookNames[phase], names)
}

// FollowPolicies is FollowWebhooks for policies, with the names of their bindings.
func (a *Metrics) FollowPolicies(phase Phase, names func() map[string][]string) {
	if a == nil {
		return
	}
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	a.policyNames[phase] = append(a.policyNames[phase], names)
}

// Prune deletes the series of deleted webhooks and policies. Calls in progress may create a series again, so that it
// is also called when metrics are gathered.
func (a *Metrics) Prune() {
	if a == nil {
		return
	}
	a.pruning.Lock()
	defer a.pruning.Unlock()
	webhooks, policies := a.webhooksNow(), a.policiesNow()
	w := &a.webhook
	keepOnly(func(l prometheus.Labels) bool { return webhooks[l["type"]].has(l["name"]) },
		w.took.MetricVec, w.calls.MetricVec, w.rejections.MetricVec, w.failedOpens.MetricVec)
	c := &a.conditions
	keepOnly(func(l prometheus.Labels) bool {
		if l["kind"] == "policy" {
			return policies[l["type"]].has(l["name"])
		}
		return webhooks[l["type"]].has(l["name"])
	}, c.took.MetricVec, c.errors.MetricVec, c.exclusions.MetricVec)
	for phase, m := range map[Phase]*policyMetrics{Mutating: &a.mutating, Validating: &a.validating} {
		existing := policies[phase.called()]
		keepOnly(func(l prometheus.Labels) bool { return existing.has(l["policy"], l["policy_binding"]) },
			m.took.MetricVec, m.checks.MetricVec)
	}
}

// keepOnly deletes the series of vectors for whose labels exists returns false.
func keepOnly(exists func(prometheus.Labels) bool, vectors ...*prometheus.MetricVec) {
	for _, v := range vectors {
		for _, labels := range metrics.LabelsOf(v) {
			if !exists(labels) {
				v.Delete(labels)
			}
		}
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
func (a *Metrics) webhooksNow() map[string]nameSet {
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	now := map[string]nameSet{}
	for phase, followed := range a.webhookNames {
		for _, names := range followed {
			set := setOf(now, Phase(phase))
			for _, n := range names() {
				set[[2]string{n}] = true
			}
		}
	}
	return now
}

// policiesNow returns the names of policies, without and with each of their bindings.
func (a *Metrics) policiesNow() map[string]nameSet {
	a.namesMu.Lock()
	defer a.namesMu.Unlock()
	now := map[string]nameSet{}
	for phase, followed := range a.policyNames {
		for _, names := range followed {
			set := setOf(now, Phase(phase))
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

func setOf(all map[string]nameSet, phase Phase) nameSet {
	if all[phase.called()] == nil {
		all[phase.called()] = nameSet{}
	}
	return all[phase.called()]
}
