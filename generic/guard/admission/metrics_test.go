package admission

import (
	"errors"
	"maps"
	"slices"
	"strings"
	"testing"

	"triplane.dev/generic/base/metrics"
)

// happened counts one of everything for a webhook and a policy in each phase.
func (a *Metrics) happened(webhook, policy, binding string) {
	for _, phase := range []Phase{Mutating, Validating} {
		called := Called{phase, webhook, Create}
		a.Webhook(called, true, 400, 1)
		a.WebhookRejection(called, WebhookRefused, 400)
		a.WebhookFailedOpen(called)
		for kind, name := range map[string]string{"webhook": webhook, "policy": policy} {
			a.Conditions(Called{phase, name, Create}, kind, false, nil, 1)
			a.Conditions(Called{phase, name, Create}, kind, false, errors.New("x"), 1)
		}
		a.Policy(phase, PolicyResult{policy, binding, PolicyNoError, PolicyDenied}, 1)
	}
}

// text returns the series with "example.com" in their labels.
func text(t *testing.T, r *metrics.Registry) string {
	t.Helper()
	families, err := r.Gather()
	if err != nil {
		t.Fatal(err)
	}
	var b strings.Builder
	for _, f := range families {
		for _, m := range f.Metric {
			// String separates fields by one or two spaces, so that no program depends on it.
			if line := f.GetName() + strings.ReplaceAll(m.String(), "  ", " "); strings.Contains(line, "example.com") {
				b.WriteString(line + "\n")
			}
		}
	}
	return b.String()
}

func TestSeriesOfDeletedWebhooksAndPolicies(t *testing.T) {
	r := metrics.New()
	m := NewMetrics(r)
	webhooks, policies := []string{"stays.example.com"}, map[string][]string{"stays.example.com": {"b"}}
	for _, phase := range []Phase{Mutating, Validating} {
		m.FollowWebhooks(phase, func() []string { return nil }) // of a plugin that was replaced
		m.FollowWebhooks(phase, func() []string { return webhooks })
		m.FollowPolicies(phase, func() map[string][]string { return policies })
	}
	m.happened("stays.example.com", "stays.example.com", "b")
	before := text(t, r)
	if !strings.Contains(before, "match_condition_exclusions") || !strings.Contains(before, "webhook_fail_open") {
		t.Fatalf("what stays is not shown: %s", before)
	}
	for line := range strings.Lines(before) {
		validating := strings.HasPrefix(line, "apiserver_validating_admission_policy_")
		if strings.Contains(line, "enforcement_action") != validating {
			t.Errorf("only validating policies have actions: %s", line)
		}
	}

	was, had := slices.Clone(webhooks), maps.Clone(policies)
	webhooks, policies["goes.example.com"] = append(webhooks, "goes.example.com"), []string{"b", "c"}
	policies["stays.example.com"] = []string{"b", "c"}
	m.happened("goes.example.com", "goes.example.com", "c")
	m.happened("goes.example.com", "stays.example.com", "c")
	if now := text(t, r); strings.Count(now, "goes.example.com") == 0 || !strings.Contains(now, `name:"policy_binding" value:"c"`) {
		t.Fatalf("what exists is not shown: %s", now)
	}
	webhooks, policies = was, had
	// A call that was in progress ends after the deletion.
	m.Prune()
	m.happened("goes.example.com", "goes.example.com", "c")
	now := text(t, r)
	if strings.Contains(now, "goes.example.com") || strings.Contains(now, `name:"policy_binding" value:"c"`) {
		t.Errorf("what was deleted is shown: %s", now)
	}
	if a, b := strings.Count(before, "\n"), strings.Count(now, "\n"); a != b {
		t.Errorf("%d lines are %d now", a, b)
	}
}

// Without a plugin that returns names, all series stay.
func TestSeriesWithoutOwners(t *testing.T) {
	r := metrics.New()
	m := NewMetrics(r)
	m.happened("a.example.com", "b.example.com", "c")
	if now := text(t, r); !strings.Contains(now, "a.example.com") || !strings.Contains(now, "b.example.com") {
		t.Errorf("series are missing: %s", now)
	}
}
