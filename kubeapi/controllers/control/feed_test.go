package control

import "testing"

// Only known keys show that a resource has no objects.
func TestLack(t *testing.T) {
	all := &keys{sorted: []string{"/registry/configmaps/n/a", "/registry/podtemplates/n/a"}}
	for prefix, lacks := range map[string]bool{
		"/registry/configmaps/": false, "/registry/podtemplates/": false, "/registry/pods/": true, "/registry/a/": true,
		"/registry/services/specs/": true,
	} {
		if all.lack(prefix) != lacks || (*keys)(nil).lack(prefix) {
			t.Errorf("%s: no objects is %t, and without keys %t", prefix, !lacks, (*keys)(nil).lack(prefix))
		}
	}
}
