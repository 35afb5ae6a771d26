package e2e

import (
	"context"
	"fmt"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane/e2e/harness"
)

// TestRestartKeepsEverything stops the server as a service manager does and
// starts it again on the same data.
func TestRestartKeepsEverything(t *testing.T) {
	s := harness.Start(t)
	s.Kubectl(t, "apply", "-f", "testdata/walkthrough.yaml", "-f", "testdata/widgets-crd.yaml")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=10s")
	s.Kubectl(t, "apply", "-f", "testdata/widget.yaml")
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
	var mu sync.Mutex
	acknowledged := map[string]string{} // name: value last acknowledged
	for round := range 3 {
		client := kubernetes.NewForConfigOrDie(s.Config)
		var written atomic.Int32
		var wg sync.WaitGroup
		for w := range 4 {
			wg.Go(func() {
				for i := 0; ; i++ {
					name, value := fmt.Sprintf("r%d-w%d-%d", round, w, i), fmt.Sprint(i)
					if !write(t.Context(), client, name, value) {
						return
					}
					mu.Lock()
					acknowledged[name] = value
					mu.Unlock()
					written.Add(1)
				}
			})
		}
		for deadline := time.Now().Add(20 * time.Second); written.Load() < 200; {
			if time.Now().After(deadline) {
				t.Fatalf("only %d writes\n%s", written.Load(), s.Output())
			}
			time.Sleep(time.Millisecond)
		}
		s.Kill()
		wg.Wait()
		s.Restart(t)
	}
	list, err := kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default").List(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	have := map[string]string{}
	for _, c := range list.Items {
		have[c.Name] = c.Data["v"]
	}
	for name, value := range acknowledged {
		if have[name] != value {
			t.Errorf("%s: acknowledged %q, found %q", name, value, have[name])
		}
	}
	t.Logf("%d acknowledged writes, %d objects", len(acknowledged), len(have))
}

// write creates an object and updates it, and reports whether both were
// acknowledged.
func write(ctx context.Context, client kubernetes.Interface, name, value string) bool {
	ctx, cancel := context.WithTimeout(ctx, 5*time.Second)
	defer cancel()
	maps := client.CoreV1().ConfigMaps("default")
	c, err := maps.Create(ctx, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}}, metav1.CreateOptions{})
	if err != nil {
		return false
	}
	c.Data = map[string]string{"v": value}
	_, err = maps.Update(ctx, c, metav1.UpdateOptions{})
	return err == nil
}
