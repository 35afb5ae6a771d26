package podsecurity

import (
	"slices"
	"testing"

	"k8s.io/pod-security-admission/api"
)

func TestFaultLines(t *testing.T) {
	got := faultLines(map[string][]string{"x": {"b"}, "y": {"d", "c"}, "z": {"e", "a", "f"}})
	want := []string{"a (and 2 other pods): z", "b: x", "c (and 1 other pod): y"}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestStricter(t *testing.T) {
	level := func(l api.Level, v api.Version) api.LevelVersion { return api.LevelVersion{Level: l, Version: v} }
	latest, old := api.LatestVersion(), api.MajorMinorVersion(1, 0)
	for _, c := range []struct {
		now, before api.LevelVersion
		want        bool
	}{
		{level(api.LevelBaseline, latest), level(api.LevelBaseline, latest), false},
		{level(api.LevelBaseline, latest), level(api.LevelPrivileged, latest), true},
		{level(api.LevelBaseline, latest), level(api.LevelRestricted, latest), false},
		{level(api.LevelRestricted, latest), level(api.LevelRestricted, old), true},
		{level(api.LevelPrivileged, latest), level(api.LevelRestricted, old), false},
	} {
		if got := stricter(c.now, c.before); got != c.want {
			t.Errorf("%v after %v: %v", c.now, c.before, got)
		}
	}
}
