// What was acknowledged is there after a shutdown and after kills.

package store

import (
	"testing"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// TestRestartKeepsEverything stops the server as a service manager does and
// starts it again on the same data.
func TestRestartKeepsEverything(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "apply", "-f", "../testdata/walkthrough.yaml", "-f", "../testdata/widgets-crd.yaml")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s")
	s.Kubectl(t, "apply", "-f", "../testdata/widget.yaml")
	show := []string{"get", "ns,cm,secret,svc,deploy,crd,widgets,apiservices,clusterroles", "-A", "-o",
		`jsonpath={range .items[*]}{.kind}/{.metadata.namespace}/{.metadata.name} {.metadata.uid} {.metadata.resourceVersion}{"\n"}{end}`}
	before := s.Kubectl(t, show...)
	if err := s.Terminate(t); err != nil {
		t.Fatalf("SIGTERM: %v\n%s", err, s.Output())
	}
	s.Restart(t)
	if after := s.Kubectl(t, show...); after != before {
		t.Errorf("before:\n%s\nafter:\n%s", before, after)
	}
}

// TestKillDuringWritesLosesNothingAcknowledged kills the server in the middle of
// writes, several times, and looks for all that it had acknowledged.
func TestKillDuringWritesLosesNothingAcknowledged(t *testing.T) {
	s := harness.Start(t)
	writes := oracle.NewWrites("default")
	for range 3 {
		writes.During(t, s.Config, 200, s.Kill)
		s.Restart(t)
		writes.Check(t, s.Config)
	}
}
