package authorizer

import "testing"

func TestPathMatches(t *testing.T) {
	for _, c := range []struct {
		rule, path string
		want       bool
	}{
		{"/healthz", "/healthz", true},
		{"/healthz", "/healthz/etcd", false},
		{"/healthz/*", "/healthz/etcd", true},
		{"/healthz*", "/healthz", true},
		{"*", "/metrics", true},
		{"**", "/metrics", true},
		{"", "/metrics", false},
		{"", "", true},
		{"/debug/*", "/debug/pprof/heap", true},
		// Privileged paths need an exact rule.
		{"*", "/etcd/snapshot", false},
		{"*", "/etcd/members", false},
		{"/*", "/etcd/snapshot", false},
		{"/etcd/*", "/etcd/snapshot", false},
		{"/etcd/snapshot*", "/etcd/snapshot", false},
		{"*", "//etcd/snapshot", false},
		{"*", "/x/../etcd/members", false},
		{"*", "/debug/audit", false},
		{"/debug/*", "/debug/audit", false},
		{"/etcd/snapshot", "/etcd/snapshot", true},
		{"/debug/audit", "/debug/audit", true},
		{"*", "/etcdx", true},
		// A rule that is compared with another one allows nothing by itself.
		{"*", "/etcd/*", true},
	} {
		if got := PathMatches(c.rule, c.path); got != c.want {
			t.Errorf("%q covers %q: %t", c.rule, c.path, got)
		}
	}
}
