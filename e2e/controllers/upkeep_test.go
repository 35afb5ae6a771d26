// Quotas, aggregated roles, protected volumes, and Jobs whose time to live is over.

package controllers

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/e2e/harness"
)

// TestQuotasRecover fills a quota, and makes room.
func TestQuotasRecover(t *testing.T) {
	s, client := harness.StartControlled(t)
	harness.ServeWidgets(t, s)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "small")
	s.Kubectl(t, "-n", "small", "create", "secret", "generic", "before")
	s.Kubectl(t, "-n", "small", "create", "quota", "q", "--hard=secrets=2,count/widgets.example.com=1,pods=1,requests.cpu=1")
	used := func(name corev1.ResourceName, want string) {
		t.Helper()
		harness.Eventually(t, func() error {
			q, err := client.CoreV1().ResourceQuotas("small").Get(ctx, "q", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := q.Status.Used[name]; got.String() != want {
				return fmt.Errorf("%s: %s used", name, got.String())
			}
			return nil
		})
	}
	used("secrets", "1")
	used("requests.cpu", "0")
	s.Kubectl(t, "-n", "small", "create", "secret", "generic", "a")
	if out, err := s.TryKubectl(t, "", "-n", "small", "create", "secret", "generic", "b"); err == nil ||
		!strings.Contains(out, "exceeded quota: q") {
		t.Errorf("a third secret: %s", out)
	}
	s.Kubectl(t, "-n", "small", "delete", "secret", "a")
	used("secrets", "1")
	s.Kubectl(t, "-n", "small", "create", "secret", "generic", "b")

	widget := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":%q,"namespace":"small"},"spec":{"size":1}}`
	s.KubectlIn(t, fmt.Sprintf(widget, "a"), "create", "-f", "-")
	used("count/widgets.example.com", "1")
	s.Kubectl(t, "-n", "small", "delete", "widget", "a")
	used("count/widgets.example.com", "0")

	pod := `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"small"},"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","resources":{"requests":{"cpu":"300m"}}}]}}`
	harness.Eventually(t, func() error {
		_, err := s.TryKubectl(t, pod, "create", "-f", "-")
		return err
	}) // with its account
	used("requests.cpu", "300m")
	s.Kubectl(t, "-n", "small", "patch", "pod", "p", "--subresource=status", "--type=merge", "-p",
		`{"status":{"phase":"Succeeded"}}`)
	used("requests.cpu", "0")
}

// TestClusterRolesAggregate adds rules to a role by the label of another.
func TestClusterRolesAggregate(t *testing.T) {
	s, client := harness.StartControlled(t)
	s.KubectlIn(t, `
apiVersion: rbac.authorization.k8s.io/v1
kind: ClusterRole
metadata: {name: extra-view, labels: {rbac.authorization.k8s.io/aggregate-to-view: "true"}}
rules: [{apiGroups: [example.com], resources: [widgets], verbs: [get]}]
`, "apply", "-f", "-")
	has := func(want bool) func() error {
		return func() error {
			role, err := client.RbacV1().ClusterRoles().Get(t.Context(), "view", metav1.GetOptions{})
			if err != nil {
				return err
			}
			if got := strings.Contains(fmt.Sprint(role.Rules), "widgets"); got != want || len(role.Rules) < 5 {
				return fmt.Errorf("rules %v", role.Rules)
			}
			return nil
		}
	}
	harness.Eventually(t, has(true))
	s.Kubectl(t, "delete", "clusterrole", "extra-view")
	harness.Eventually(t, has(false))
}

// TestVolumesAreProtected deletes a claim that a pod uses.
func TestVolumesAreProtected(t *testing.T) {
	s, client := harness.StartControlled(t)
	ctx := t.Context()
	harness.Eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	s.KubectlIn(t, `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: c}
spec: {accessModes: [ReadWriteOnce], resources: {requests: {storage: 1Gi}}}
---
apiVersion: v1
kind: Pod
metadata: {name: p}
spec:
  nodeName: node
  containers: [{name: c, image: i}]
  volumes: [{name: v, persistentVolumeClaim: {claimName: c}}]
`, "apply", "-f", "-")
	s.Kubectl(t, "delete", "pvc", "c", "--wait=false")
	claim, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "c", metav1.GetOptions{})
	if err != nil || !slices.Contains(claim.Finalizers, "kubernetes.io/pvc-protection") {
		t.Fatalf("the claim is not protected: %v %v", claim, err)
	}
	s.Kubectl(t, "delete", "pod", "p", "--grace-period=0", "--force")
	harness.Gone(t, func() error {
		_, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "c", metav1.GetOptions{})
		return err
	})
}

// TestFinishedJobsGo lets a Job's time run out.
func TestFinishedJobsGo(t *testing.T) {
	s, client := harness.StartControlled(t)
	s.KubectlIn(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
`, "apply", "-f", "-")
	now := time.Now().UTC().Format(time.RFC3339)
	s.Kubectl(t, "patch", "job", "j", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status":{"startTime":%q,"conditions":[{"type":"FailureTarget","status":"True","lastTransitionTime":%q},{"type":"Failed","status":"True","lastTransitionTime":%q}]}}`, now, now, now))
	harness.Gone(t, func() error {
		_, err := client.BatchV1().Jobs("default").Get(t.Context(), "j", metav1.GetOptions{})
		return err
	})
}
