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
