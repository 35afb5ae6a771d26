package metrics

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"
)

// happened counts one of everything for a webhook and a policy in each phase.
func (a *Admission) happened(webhook, policy, binding string) {
	for _, phase := range []AdmissionPhase{Admit, Validate} {
		a.Webhook(phase, webhook, "CREATE", true, 400, 1)
		a.WebhookRejection(phase, webhook, "CREATE", WebhookRefused, 400)
		a.WebhookFailedOpen(phase, webhook)
		for kind, name := range map[string]string{"webhook": webhook, "policy": policy} {
			a.Conditions(phase, kind, name, "CREATE", false, nil, 1)
			a.Conditions(phase, kind, name, "CREATE", false, errors.New("x"), 1)
		}
		a.Policy(phase, policy, binding, PolicyNoError, PolicyDenied, 1)
	}
}

func TestSeriesOfDeletedWebhooksAndPolicies(t *testing.T) {
	r := New()
	webhooks, policies := []string{"stays.example.com"}, map[string][]string{"stays.example.com": {"b"}}
	for _, phase := range []AdmissionPhase{Admit, Validate} {
		r.Admission.FollowWebhooks(phase, func() []string { return nil }) // of a plugin that was replaced
		r.Admission.FollowWebhooks(phase, func() []string { return webhooks })
		r.Admission.FollowPolicies(phase, func() map[string][]string { return policies })
	}
	r.Admission.happened("stays.example.com", "stays.example.com", "b")
	before := r.text(t)
	if !strings.Contains(before, "match_condition_exclusions") || !strings.Contains(before, "webhook_fail_open") {
		t.Fatalf("what stays is not shown: %s", before)
	}

	was, had := slices.Clone(webhooks), maps.Clone(policies)
	webhooks, policies["goes.example.com"] = append(webhooks, "goes.example.com"), []string{"b", "c"}
	policies["stays.example.com"] = []string{"b", "c"}
	r.Admission.happened("goes.example.com", "goes.example.com", "c")
	r.Admission.happened("goes.example.com", "stays.example.com", "c")
	if now := r.text(t); strings.Count(now, "goes.example.com") == 0 || strings.Count(now, `policy_binding="c"`) == 0 {
		t.Fatalf("what exists is not shown: %s", now)
	}
	webhooks, policies = was, had
	// A call that was in progress ends after the deletion.
	r.Admission.Prune()
	r.Admission.happened("goes.example.com", "goes.example.com", "c")
	now := r.text(t)
	if strings.Contains(now, "goes.example.com") || strings.Contains(now, `policy_binding="c"`) {
		t.Errorf("what was deleted is shown: %s", now)
	}
	if a, b := strings.Count(before, "\n"), strings.Count(now, "\n"); a != b {
		t.Errorf("%d lines are %d now", a, b)
	}
}

// Without a plugin that returns names, all series stay.
func TestSeriesWithoutOwners(t *testing.T) {
	r := New()
	r.Admission.happened("a.example.com", "b.example.com", "c")
	if now := r.text(t); !strings.Contains(now, "a.example.com") || !strings.Contains(now, "b.example.com") {
		t.Errorf("series are missing: %s", now)
	}
}
