// Rolling upgrades: servers become those of the next release one by one, and go back, while clients write.

package soak

import (
	"context"
	"fmt"
	"math/rand/v2"
	"net/http"
	"sync"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/e2e/oracle"
)

// former is the release from which servers are upgraded.
const former = "1.36"

// balanced writes through any of several servers as a client behind a load balancer does: it repeats what a server
// that is going away, or is not there, did not answer or refused for a while.
type balanced struct {
	ways   []oracle.Writer
	mu     sync.Mutex
	failed []error // what a client would not repeat
	again  int     // repeated calls
}

// try calls a server, then others while that is worth it. inDoubt is what a repeated call may find, because an
// earlier one took effect.
func (b *balanced) try(ctx context.Context, inDoubt func(error) bool, call func(oracle.Writer) error) error {
	doubtful := false
	for first, i := rand.IntN(len(b.ways)), 0; ; i++ {
		err := call(b.ways[(first+i)%len(b.ways)])
		if err == nil || doubtful && inDoubt(err) {
			return nil
		}
		code := statusCode(err)
		repeated := code == 0 || code == http.StatusTooManyRequests || code == http.StatusServiceUnavailable ||
			code == http.StatusGatewayTimeout
		b.mu.Lock()
		if repeated {
			b.again++
		} else {
			b.failed = append(b.failed, err)
		}
		b.mu.Unlock()
		if !repeated || ctx.Err() != nil {
			return err
		}
		doubtful = true
		time.Sleep(5 * time.Millisecond)
	}
}

// Create implements oracle.Writer.
func (b *balanced) Create(ctx context.Context, c *corev1.ConfigMap,
	opts metav1.CreateOptions) (*corev1.ConfigMap, error) {
	return c, b.try(ctx, apierrors.IsAlreadyExists, func(w oracle.Writer) error {
		_, err := w.Create(ctx, c, opts)
		return err
	})
}

// Update implements oracle.Writer.
func (b *balanced) Update(ctx context.Context, c *corev1.ConfigMap,
	opts metav1.UpdateOptions) (*corev1.ConfigMap, error) {
	never := func(error) bool { return false } // it sets the same again
	return c, b.try(ctx, never, func(w oracle.Writer) error {
		_, err := w.Update(ctx, c, opts)
		return err
	})
}

// Delete implements oracle.Writer.
func (b *balanced) Delete(ctx context.Context, name string, opts metav1.DeleteOptions) error {
	return b.try(ctx, apierrors.IsNotFound, func(w oracle.Writer) error { return w.Delete(ctx, name, opts) })
}

// TestUpgradeReplicas upgrades three servers on one etcd.
func TestUpgradeReplicas(t *testing.T) {
	together(t)
	etcd := harness.StartEtcd(t)
	var servers []*harness.Server
	for range 3 {
		servers = append(servers, harness.Start(t, "--etcd-servers="+etcd, "--emulated-version="+former))
	}
	upgradeInTurn(t, "three servers on one etcd", servers)
}

// TestUpgradeCluster upgrades three servers whose embedded etcds are one cluster.
func TestUpgradeCluster(t *testing.T) {
	together(t)
	c := &harness.Cluster{Args: []string{"--emulated-version=" + former}}
	var servers []*harness.Server
	for _, name := range []string{"a", "b", "c"} {
		c.Join(t, name)
		servers = append(servers, c.Servers[name])
	}
	upgradeInTurn(t, "a cluster of three", servers)
}

// upgradeInTurn upgrades servers of the former release one by one while clients write, and takes them back.
func upgradeInTurn(t *testing.T, what string, servers []*harness.Server) {
	t.Helper()
	const namespace = "kube-public"
	all := &balanced{}
	for _, s := range servers {
		all.ways = append(all.ways, kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps(namespace))
	}
	writes := oracle.NewWrites(namespace)
	n := rounds(t, 1, func(int) {
		for _, release := range []string{"", former} {
			for _, s := range servers {
				writes.Through(t, []oracle.Writer{all}, 20, func() { s.Upgrade(t, release) })
				if err := serves(t, s, release); err != nil {
					t.Error(err)
				}
			}
			for _, s := range servers {
				writes.Check(t, s.Config)
			}
		}
	})
	if len(all.failed) > 0 {
		t.Errorf("%d writes failed so that a client would not repeat them, the first with %v", len(all.failed), all.failed[0])
	}
	note(t, "no write fails that a client would not repeat, and none that was acknowledged is lost",
		"%s, upgraded from %s in turn and taken back %d times: %d acknowledged writes, %d calls repeated",
		what, former, n, writes.Acknowledged(), all.again)
}

// serves returns an error where a server is not of a release, the program's own if it is empty.
func serves(t *testing.T, s *harness.Server, release string) error {
	t.Helper()
	version, err := kubernetes.NewForConfigOrDie(s.Config).Discovery().ServerVersion()
	if err != nil {
		return err
	}
	is := version.EmulationMajor + "." + version.EmulationMinor
	if release == "" && is == former || release != "" && is != release {
		return fmt.Errorf("the server is of %s after the upgrade to %q", is, release)
	}
	return nil
}
