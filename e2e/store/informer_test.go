// An informer of client-go misses and invents nothing while the server is restarted and killed.

package store

import (
	"testing"

	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// TestInformerSurvivesRestart watches 5,000 objects, some of which change all the
// time, through a shutdown and a crash of the server, and looks for missed and
// invented events.
func TestInformerSurvivesRestart(t *testing.T) {
	const objects = 5000
	s := harness.Start(t)
	client := kubernetes.NewForConfigOrDie(s.Config)
	harness.CreateConfigMaps(t, client, 0, objects)

	f := oracle.Follow(t, client, client)
	f.More(t, 200)
	if err := s.Terminate(t); err != nil {
		t.Fatal(err)
	}
	s.Restart(t)
	f.More(t, 200)
	s.Kill()
	s.Restart(t)
	f.More(t, 200)
	f.End(t)
}
