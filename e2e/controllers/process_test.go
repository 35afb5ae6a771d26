// Where controllers run: one replica, not beside kube-controller-manager, as audited accounts.

package controllers

import (
	"fmt"
	"os"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/e2e/harness"
)

// TestOneReplicaHasTheControllers kills the replica whose controllers work.
func TestOneReplicaHasTheControllers(t *testing.T) {
	etcd := harness.StartEtcd(t)
	first, _ := harness.StartControlled(t, "--etcd-servers", etcd)
	leading := func(s *harness.Server) func() error {
		return func() error {
			if !strings.Contains(s.Kubectl(t, "get", "--raw", "/metrics"), `leader_election_master_status{name="triplane-controllers"} 1`) {
				return fmt.Errorf("it does not lead")
			}
			return nil
		}
	}
	harness.Eventually(t, leading(first))
	second, _ := harness.StartControlled(t, "--etcd-servers", etcd)
	if leading(second)() == nil {
		t.Error("two replicas lead")
	}
	second.Kubectl(t, "create", "namespace", "a")
	second.Kubectl(t, "delete", "namespace", "a", "--timeout=30s")
	first.Kill()
	harness.Eventually(t, leading(second))
	second.Kubectl(t, "create", "namespace", "b")
	second.Kubectl(t, "delete", "namespace", "b", "--timeout=30s")

	// One that ends gives its lease back.
	third, _ := harness.StartControlled(t, "--etcd-servers", etcd)
	if err := second.Terminate(t); err != nil {
		t.Fatal(err)
	}
	harness.Eventually(t, leading(third))
}

// TestControllersStepAside takes the lease of a kube-controller-manager.
func TestControllersStepAside(t *testing.T) {
	s, client := harness.StartControlled(t)
	ctx := t.Context()
	status := func(want string) func() error {
		return func() error {
			if out := s.Kubectl(t, "get", "--raw", "/metrics"); !strings.Contains(out, `leader_election_master_status{name="triplane-controllers"} `+want) {
				return fmt.Errorf("the status is not %s", want)
			}
			return nil
		}
	}
	harness.Eventually(t, status("1"))
	lease := func(seconds int) string {
		return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"kube-controller-manager","namespace":"kube-system"},
			"spec":{"holderIdentity":"other","leaseDurationSeconds":%d,"renewTime":%q}}`, seconds,
			time.Now().UTC().Format(metav1.RFC3339Micro))
	}
	s.KubectlIn(t, lease(3600), "apply", "-f", "-")
	harness.Eventually(t, status("0"))
	s.Kubectl(t, "create", "namespace", "waits")
	s.Kubectl(t, "delete", "namespace", "waits", "--wait=false")
	s.KubectlIn(t, lease(1), "apply", "-f", "-")
	harness.Eventually(t, status("1"))
	harness.Gone(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "waits", metav1.GetOptions{})
		return err
	})
	if !strings.Contains(s.Output(), "kube-controller-manager acquired its lease") {
		t.Error("the log does not say why the controllers stopped")
	}
}

// TestControllersAreAudited looks for the accounts that controllers act as.
func TestControllersAreAudited(t *testing.T) {
	dir := t.TempDir()
	policy := dir + "/policy.yaml"
	if err := os.WriteFile(policy, []byte("apiVersion: audit.k8s.io/v1\nkind: Policy\nrules: [{level: Metadata, verbs: [create, delete, deletecollection, update]}]\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s, _ := harness.StartControlled(t, "--audit-policy-file", policy, "--audit-log-path", dir+"/log")
	s.Kubectl(t, "create", "namespace", "seen")
	s.Kubectl(t, "delete", "namespace", "seen", "--timeout=30s")
	harness.Eventually(t, func() error {
		log, err := os.ReadFile(dir + "/log")
		if err != nil {
			return err
		}
		for _, name := range []string{"namespace-controller", "service-account-controller", "root-ca-cert-publisher"} {
			if !strings.Contains(string(log), "system:serviceaccount:kube-system:"+name) {
				return fmt.Errorf("nothing of %s", name)
			}
		}
		return nil
	})
}
