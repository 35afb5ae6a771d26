package batch

import (
	"testing"

	"triplane.dev/kubeapi/kindtest"
	"triplane.dev/kubeapi/podspec"
)

func TestJobDefaults(t *testing.T) {
	j := kindtest.New(t, jobKind(podspec.Options{}), "metadata: {name: j, uid: u}\nspec: {template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}")
	s := j.Spec
	if *s.Completions != 1 || *s.Parallelism != 1 || *s.BackoffLimit != 6 || *s.CompletionMode != "NonIndexed" || *s.PodReplacementPolicy != "TerminatingOrFailed" {
		t.Errorf("unexpected defaults %+v", s)
	}
	if s.Selector.MatchLabels["batch.kubernetes.io/controller-uid"] != "u" || s.Template.Labels["job-name"] != "j" {
		t.Errorf("selector %v, labels %v", s.Selector, s.Template.Labels)
	}
}

func TestSchedules(t *testing.T) {
	for spec, want := range map[string]string{
		"*/5 * * * *": "", "0 0 1 jan sun": "", "1,2-4/2 * ? * *": "", "@daily": "", "@every 5m": "", "TZ=UTC 1 * * * *": "",
		"* * * *":       "expected exactly 5 fields, found 4: [* * * *]",
		"60 * * * *":    "end of range (60) above maximum (59): 60",
		"* * 0 * *":     "beginning of range (0) below minimum (1): 0",
		"5-1 * * * *":   "beginning of range (5) beyond end of range (1): 5-1",
		"*/0 * * * *":   "step of range should be a positive number: */0",
		"1-2-3 * * * *": "too many hyphens: 1-2-3",
		"1/2/3 * * * *": "too many slashes: 1/2/3",
		"@reboot":       "unrecognized descriptor: @reboot",
		"CRON_TZ=UTC":   "invalid schedule format: runtime error: slice bounds out of range [:-1]",
	} {
		got := ""
		if err := checkSchedule(spec); err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", spec, got, want)
		}
	}
}

func TestIndexes(t *testing.T) {
	for text, want := range map[string]string{
		"": "", "0,2-4": "", "5": `too large index: "5"`, "3,1": "non-increasing order, previous: 3, current: 1",
		"1-": `cannot convert string to integer for index: ""`, "a": `cannot convert string to integer for index: "a"`,
	} {
		_, _, err := parseIndexes(text, 5)
		got := ""
		if err != nil {
			got = err.Error()
		}
		if got != want {
			t.Errorf("%q: %q, want %q", text, got, want)
		}
	}
	a, n, _ := parseIndexes("0,2-4", 5)
	b, _, _ := parseIndexes("1,3", 5)
	if i, ok := overlap(a, b); n != 4 || !ok || i != 3 {
		t.Errorf("%d indexes, overlap at %d (%v)", n, i, ok)
	}
}

// TestScheduling plays no story: the field is dropped while WorkloadWithJob is off.
func TestScheduling(t *testing.T) {
	const gang, basic = "{schedulingPolicy: {gang: {minCount: 2}}}", "{schedulingPolicy: {basic: {}}}"
	text := func(scheduling string) string {
		return "metadata: {name: j, uid: u}\nspec: {parallelism: 2, scheduling: " + scheduling +
			", template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}"
	}
	k := jobKind(podspec.Options{})
	for scheduling, want := range map[string][]string{
		gang: nil,
		"{schedulingPolicy: {gang: {minCount: 3}}}": {
			"spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 3: must not be greater than parallelism (2)"},
		"{schedulingPolicy: {gang: {minCount: 0}}}": {
			"spec.scheduling.schedulingPolicy.gang.minCount: Invalid value: 0: must be greater than or equal to 1"},
		"{schedulingPolicy: {}}": {
			"spec.scheduling.schedulingPolicy: Invalid value: \"\": must specify one of: `basic`, `gang`"},
		"{disruptionMode: {all: {}}}": {"spec.scheduling.disruptionMode: Invalid value: \"\": the disruptionMode `all` is " +
			"not supported with the Basic scheduling policy"},
		"{schedulingConstraints: {topology: [{key: ''}]}}": {
			"spec.scheduling.schedulingConstraints.topology[0].key: Required value"},
		"{resourceClaims: [{name: a}]}": {"spec.scheduling.resourceClaims[0]: Invalid value: \"\": must specify one of: " +
			"`resourceClaimName`, `resourceClaimTemplateName`"},
	} {
		kindtest.Refused(t, k, text(scheduling), want...)
	}
	for _, c := range []struct{ before, after, want string }{
		{gang, "{schedulingPolicy: {gang: {minCount: 1}}}", ""},
		{gang, basic, "spec.scheduling.schedulingPolicy: Invalid value: null: the basic/gang policy variant is immutable " +
			"after creation; only schedulingPolicy.gang.minCount may be updated"},
		{gang, "null", "spec.scheduling: Invalid value: null: field cannot be cleared once set"},
		{"null", gang, "spec.scheduling: Invalid value: null: field cannot be set once created"},
		{"{}", gang, "spec.scheduling.schedulingPolicy: Invalid value: null: field cannot be set once created"},
		{basic, "{schedulingPolicy: {basic: {}}, disruptionMode: {single: {}}}",
			"spec.scheduling.disruptionMode: Invalid value: null: field is immutable"},
		{basic, "{schedulingPolicy: {basic: {}}, resourceClaims: [{name: a, resourceClaimName: a}]}",
			"spec.scheduling.resourceClaims: Invalid value: null: field is immutable"},
	} {
		var want []string
		if c.want != "" {
			want = []string{c.want}
		}
		kindtest.UpdateRefused(t, k, text(c.before), text(c.after), want...)
	}
}
