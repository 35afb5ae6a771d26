package e2e

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/dynamic"
	"k8s.io/client-go/kubernetes"

	"triplane/e2e/harness"
)

// startControlled starts a server with all controllers, whose widgets can be used.
func startControlled(t *testing.T, args ...string) (*harness.Server, *kubernetes.Clientset) {
	t.Helper()
	s := harness.Start(t, append([]string{"--controllers=*"}, args...)...)
	return s, kubernetes.NewForConfigOrDie(s.Config)
}

func serveWidgets(t *testing.T, s *harness.Server) {
	t.Helper()
	s.Kubectl(t, "apply", "-f", "testdata/widgets-crd.yaml")
	s.Kubectl(t, "wait", "--for=condition=Established", "crd/widgets.example.com", "--timeout=30s")
}

// gone waits until an object does not exist any more.
func gone(t *testing.T, get func() error) {
	t.Helper()
	eventually(t, func() error {
		err := get()
		if apierrors.IsNotFound(err) {
			return nil
		}
		if err == nil {
			err = errors.New("still there")
		}
		return err
	})
}

// TestNamespacesAreEmptied deletes a namespace with built-in and custom objects, one
// of which a finalizer holds.
func TestNamespacesAreEmptied(t *testing.T) {
	s, client := startControlled(t)
	serveWidgets(t, s)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "full")
	s.Kubectl(t, "-n", "full", "create", "configmap", "m")
	s.Kubectl(t, "-n", "full", "create", "role", "r", "--verb=get", "--resource=pods")
	s.Kubectl(t, "-n", "full", "create", "service", "clusterip", "s", "--tcp=80")
	widget := `{"apiVersion":"example.com/v1","kind":"Widget","metadata":{"name":"w","namespace":"full","finalizers":["example.com/hold"]},"spec":{"size":1}}`
	s.KubectlIn(t, widget, "apply", "-f", "-")

	s.Kubectl(t, "delete", "namespace", "full", "--wait=false")
	eventually(t, func() error {
		ns, err := client.CoreV1().Namespaces().Get(ctx, "full", metav1.GetOptions{})
		if err != nil {
			return err
		}
		want := map[corev1.NamespaceConditionType]string{
			corev1.NamespaceDeletionDiscoveryFailure: "All resources successfully discovered",
			corev1.NamespaceDeletionGVParsingFailure: "All legacy kube types successfully parsed",
			corev1.NamespaceDeletionContentFailure:   "All content successfully deleted, may be waiting on finalization",
			corev1.NamespaceContentRemaining:         "Some resources are remaining: widgets.example.com has 1 resource instances",
			corev1.NamespaceFinalizersRemaining:      "Some content in the namespace has finalizers remaining: example.com/hold in 1 resource instances",
		}
		for _, c := range ns.Status.Conditions {
			if c.Message != want[c.Type] {
				return fmt.Errorf("condition %s: %s", c.Type, c.Message)
			}
			delete(want, c.Type)
		}
		if len(want) > 0 {
			return fmt.Errorf("no conditions %v", want)
		}
		return nil
	})
	if maps, err := client.CoreV1().ConfigMaps("full").List(ctx, metav1.ListOptions{}); err != nil || len(maps.Items) != 0 {
		t.Errorf("config maps are left: %v %v", maps.Items, err)
	}
	s.Kubectl(t, "-n", "full", "patch", "widget", "w", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	gone(t, func() error { _, err := client.CoreV1().Namespaces().Get(ctx, "full", metav1.GetOptions{}); return err })
}

// TestPodsGoFirst deletes a namespace with a pod that a finalizer holds: what guards
// the pod stays until then.
func TestPodsGoFirst(t *testing.T) {
	s, client := startControlled(t)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "ordered")
	s.Kubectl(t, "-n", "ordered", "create", "configmap", "m")
	eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("ordered").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Pod","metadata":{"name":"p","namespace":"ordered","finalizers":["example.com/hold"]},
		"spec":{"containers":[{"name":"c","image":"i"}]}}`, "create", "-f", "-")
	s.Kubectl(t, "delete", "namespace", "ordered", "--wait=false")
	eventually(t, func() error {
		ns, err := client.CoreV1().Namespaces().Get(ctx, "ordered", metav1.GetOptions{})
		if err != nil {
			return err
		}
		if !slices.ContainsFunc(ns.Status.Conditions, func(c corev1.NamespaceCondition) bool {
			return c.Type == corev1.NamespaceContentRemaining && c.Message == "Some resources are remaining: pods. has 1 resource instances"
		}) {
			return fmt.Errorf("conditions %v", ns.Status.Conditions)
		}
		return nil
	})
	if _, err := client.CoreV1().ConfigMaps("ordered").Get(ctx, "m", metav1.GetOptions{}); err != nil {
		t.Errorf("something went before the pod: %v", err)
	}
	s.Kubectl(t, "-n", "ordered", "patch", "pod", "p", "--type=merge", "-p", `{"metadata":{"finalizers":null}}`)
	gone(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "ordered", metav1.GetOptions{})
		return err
	})
}

// TestNamespacesWithExternalObjects deletes a namespace that an external API server
// keeps objects of, and another one while that server does not answer.
func TestNamespacesWithExternalObjects(t *testing.T) {
	s, client := startControlled(t)
	port := harness.FreePort(t)
	sample := harness.StartProgram(t, s.Programs.SampleAPIServer,
		"--etcd-servers", harness.StartEtcd(t), "--secure-port", fmt.Sprint(port), "--bind-address", "127.0.0.1", "--cert-dir", t.TempDir(),
		"--kubeconfig", s.Kubeconfig, "--authentication-kubeconfig", s.Kubeconfig, "--authorization-kubeconfig", s.Kubeconfig)
	s.KubectlIn(t, fmt.Sprintf(wardle, port), "apply", "-f", "-")
	s.Kubectl(t, "wait", "--for=condition=Available", "apiservice/v1alpha1.wardle.example.com", "--timeout=60s")
	s.Kubectl(t, "create", "namespace", "far")
	flunders := dynamic.NewForConfigOrDie(s.Config).Resource(flunderResource)
	owner, err := client.CoreV1().ConfigMaps("far").Create(t.Context(), &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: "owner"}}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range []struct{ name, owner string }{{"free", ""}, {"owned", string(owner.UID)}} {
		u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "wardle.example.com/v1alpha1", "kind": "Flunder"}}
		u.SetName(f.name)
		if f.owner != "" {
			u.SetOwnerReferences([]metav1.OwnerReference{{APIVersion: "v1", Kind: "ConfigMap", Name: "owner", UID: owner.UID}})
		}
		eventually(t, func() error {
			_, err := flunders.Namespace("far").Create(t.Context(), u, metav1.CreateOptions{})
			if apierrors.IsAlreadyExists(err) {
				return nil
			}
			return err
		})
	}
	// The collector crosses the border of servers.
	if err := client.CoreV1().ConfigMaps("far").Delete(t.Context(), "owner", metav1.DeleteOptions{}); err != nil {
		t.Fatal(err)
	}
	gone(t, func() error {
		_, err := flunders.Namespace("far").Get(t.Context(), "owned", metav1.GetOptions{})
		return err
	})

	s.Kubectl(t, "delete", "namespace", "far", "--timeout=60s")
	list, err := flunders.List(t.Context(), metav1.ListOptions{})
	if err != nil || len(list.Items) != 0 {
		t.Errorf("flunders are left: %v %v", list, err)
	}

	sample.Kill()
	eventually(t, func() error {
		if out := s.Kubectl(t, "get", "apiservice", "v1alpha1.wardle.example.com"); !strings.Contains(out, "False") {
			return fmt.Errorf("still:\n%s", out)
		}
		return nil
	})
	s.Kubectl(t, "create", "namespace", "unsure")
	s.Kubectl(t, "delete", "namespace", "unsure", "--wait=false")
	eventually(t, func() error {
		ns, err := client.CoreV1().Namespaces().Get(t.Context(), "unsure", metav1.GetOptions{})
		if err != nil {
			return err
		}
		for _, c := range ns.Status.Conditions {
			if c.Type == corev1.NamespaceDeletionDiscoveryFailure && c.Status == corev1.ConditionTrue && strings.Contains(c.Message, "wardle.example.com/v1alpha1") {
				return nil
			}
		}
		return fmt.Errorf("conditions: %v", ns.Status.Conditions)
	})
	s.Kubectl(t, "delete", "apiservice", "v1alpha1.wardle.example.com")
	gone(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(t.Context(), "unsure", metav1.GetOptions{})
		return err
	})
}

// TestDependents deletes owners, custom and built-in, with each policy.
func TestDependents(t *testing.T) {
	s, client := startControlled(t)
	serveWidgets(t, s)
	objects := dynamic.NewForConfigOrDie(s.Config)
	maps := objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("default")
	custom := objects.Resource(widgets).Namespace("default")
	for _, policy := range []metav1.DeletionPropagation{metav1.DeletePropagationBackground, metav1.DeletePropagationForeground, metav1.DeletePropagationOrphan} {
		t.Run(string(policy), func(t *testing.T) {
			p := strings.ToLower(string(policy))
			ctx := t.Context()
			top := create(t, custom, "Widget", p+"-top")
			middle := create(t, maps, "ConfigMap", p+"-middle", top)
			create(t, custom, "Widget", p+"-bottom", middle)
			other := create(t, maps, "ConfigMap", p+"-other")
			create(t, maps, "ConfigMap", p+"-shared", top, other)
			if err := custom.Delete(ctx, p+"-top", metav1.DeleteOptions{PropagationPolicy: &policy}); err != nil {
				t.Fatal(err)
			}
			gone(t, func() error { _, err := custom.Get(ctx, p+"-top", metav1.GetOptions{}); return err })
			if policy == metav1.DeletePropagationOrphan {
				for _, name := range []string{"-middle", "-shared"} {
					o, err := maps.Get(ctx, p+name, metav1.GetOptions{})
					if err != nil || slices.ContainsFunc(o.GetOwnerReferences(), func(r metav1.OwnerReference) bool { return r.UID == top.GetUID() }) {
						t.Errorf("%s: %v %v", p+name, o, err)
					}
				}
				return
			}
			if _, err := maps.Get(ctx, p+"-middle", metav1.GetOptions{}); policy == metav1.DeletePropagationForeground && !apierrors.IsNotFound(err) {
				t.Errorf("the dependent is there after its owner: %v", err)
			}
			gone(t, func() error { _, err := maps.Get(ctx, p+"-middle", metav1.GetOptions{}); return err })
			gone(t, func() error { _, err := custom.Get(ctx, p+"-bottom", metav1.GetOptions{}); return err })
			eventually(t, func() error {
				o, err := maps.Get(ctx, p+"-shared", metav1.GetOptions{})
				if err != nil {
					t.Fatal(err)
				}
				if refs := o.GetOwnerReferences(); len(refs) != 1 || refs[0].UID != other.GetUID() {
					return fmt.Errorf("owners %v", refs)
				}
				return nil
			})
		})
	}
	t.Run("absent and in another namespace", func(t *testing.T) {
		ctx := t.Context()
		s.Kubectl(t, "create", "namespace", "elsewhere")
		far := create(t, objects.Resource(corev1.SchemeGroupVersion.WithResource("configmaps")).Namespace("elsewhere"), "ConfigMap", "far")
		never := far.DeepCopy()
		never.SetUID(types.UID("00000000-0000-4000-8000-000000000000"))
		create(t, custom, "Widget", "of-none", never)
		create(t, maps, "ConfigMap", "of-far", far)
		roles := objects.Resource(schema.GroupVersionResource{Group: "rbac.authorization.k8s.io", Version: "v1", Resource: "clusterroles"})
		create(t, roles, "ClusterRole", "scoped", far)
		gone(t, func() error { _, err := custom.Get(ctx, "of-none", metav1.GetOptions{}); return err })
		gone(t, func() error { _, err := maps.Get(ctx, "of-far", metav1.GetOptions{}); return err })
		for _, name := range []string{"of-far", "scoped"} {
			eventually(t, func() error {
				events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=OwnerRefInvalidNamespace,involvedObject.name=" + name})
				if err == nil && len(events.Items) == 0 {
					err = fmt.Errorf("no event of %s", name)
				}
				return err
			})
		}
		if _, err := roles.Get(ctx, "scoped", metav1.GetOptions{}); err != nil {
			t.Errorf("what cannot be resolved is deleted: %v", err)
		}
	})
}

// create creates an object with owners, each of which waits for it.
func create(t *testing.T, objects dynamic.ResourceInterface, kind, name string, owners ...*unstructured.Unstructured) *unstructured.Unstructured {
	t.Helper()
	u := &unstructured.Unstructured{Object: map[string]any{"apiVersion": "v1", "kind": kind}}
	switch kind {
	case "Widget":
		u.Object["apiVersion"], u.Object["spec"] = "example.com/v1", map[string]any{"size": int64(1)}
	case "ClusterRole":
		u.Object["apiVersion"] = "rbac.authorization.k8s.io/v1"
	}
	u.SetName(name)
	block := true
	var refs []metav1.OwnerReference
	for _, o := range owners {
		refs = append(refs, metav1.OwnerReference{APIVersion: o.GetAPIVersion(), Kind: o.GetKind(), Name: o.GetName(), UID: o.GetUID(), BlockOwnerDeletion: &block})
	}
	u.SetOwnerReferences(refs)
	made, err := objects.Create(t.Context(), u, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	return made
}

// TestNamespacesHaveWhatPodsNeed looks for the account and the authority, also after
// they were deleted, and for tokens in Secrets.
func TestNamespacesHaveWhatPodsNeed(t *testing.T) {
	s, client := startControlled(t)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "new")
	account := func() error {
		_, err := client.CoreV1().ServiceAccounts("new").Get(ctx, "default", metav1.GetOptions{})
		return err
	}
	authority := func() error {
		m, err := client.CoreV1().ConfigMaps("new").Get(ctx, "kube-root-ca.crt", metav1.GetOptions{})
		if err == nil && m.Data["ca.crt"] != string(s.Config.CAData) {
			err = fmt.Errorf("another authority: %s", m.Data)
		}
		return err
	}
	eventually(t, account)
	eventually(t, authority)
	s.Kubectl(t, "-n", "new", "delete", "serviceaccount/default", "configmap/kube-root-ca.crt")
	eventually(t, account)
	eventually(t, authority)
	s.Kubectl(t, "-n", "new", "run", "pod", "--image=image")

	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Secret","type":"kubernetes.io/service-account-token",
		"metadata":{"name":"token","namespace":"new","annotations":{"kubernetes.io/service-account.name":"default"}}}`, "create", "-f", "-")
	var token string
	eventually(t, func() error {
		secret, err := client.CoreV1().Secrets("new").Get(ctx, "token", metav1.GetOptions{})
		if err == nil && (len(secret.Data["token"]) == 0 || len(secret.Data["ca.crt"]) == 0 || string(secret.Data["namespace"]) != "new") {
			err = fmt.Errorf("incomplete: %v", secret.Data)
		}
		if err == nil {
			token = string(secret.Data["token"])
		}
		return err
	})
	review, err := client.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}, metav1.CreateOptions{})
	if err != nil || review.Status.User.Username != "system:serviceaccount:new:default" {
		t.Errorf("the token is of %v, %v", review.Status, err)
	}
	s.Kubectl(t, "-n", "new", "delete", "serviceaccount/default")
	gone(t, func() error {
		_, err := client.CoreV1().Secrets("new").Get(ctx, "token", metav1.GetOptions{})
		return err
	})
}

// TestOneReplicaHasTheControllers kills the replica whose controllers work.
func TestOneReplicaHasTheControllers(t *testing.T) {
	etcd := harness.StartEtcd(t)
	first, _ := startControlled(t, "--etcd-servers", etcd)
	leading := func(s *harness.Server) func() error {
		return func() error {
			if !strings.Contains(s.Kubectl(t, "get", "--raw", "/metrics"), `leader_election_master_status{name="triplane-controllers"} 1`) {
				return fmt.Errorf("it does not lead")
			}
			return nil
		}
	}
	eventually(t, leading(first))
	second, _ := startControlled(t, "--etcd-servers", etcd)
	if leading(second)() == nil {
		t.Error("two replicas lead")
	}
	second.Kubectl(t, "create", "namespace", "a")
	second.Kubectl(t, "delete", "namespace", "a", "--timeout=30s")
	first.Kill()
	eventually(t, leading(second))
	second.Kubectl(t, "create", "namespace", "b")
	second.Kubectl(t, "delete", "namespace", "b", "--timeout=30s")

	// One that ends gives its lease back.
	third, _ := startControlled(t, "--etcd-servers", etcd)
	if err := second.Terminate(t); err != nil {
		t.Fatal(err)
	}
	eventually(t, leading(third))
}

// TestControllersStepAside takes the lease of a kube-controller-manager.
func TestControllersStepAside(t *testing.T) {
	s, client := startControlled(t)
	ctx := t.Context()
	status := func(want string) func() error {
		return func() error {
			if out := s.Kubectl(t, "get", "--raw", "/metrics"); !strings.Contains(out, `leader_election_master_status{name="triplane-controllers"} `+want) {
				return fmt.Errorf("the status is not %s", want)
			}
			return nil
		}
	}
	eventually(t, status("1"))
	lease := func(seconds int) string {
		return fmt.Sprintf(`{"apiVersion":"coordination.k8s.io/v1","kind":"Lease","metadata":{"name":"kube-controller-manager","namespace":"kube-system"},
			"spec":{"holderIdentity":"other","leaseDurationSeconds":%d,"renewTime":%q}}`, seconds, time.Now().UTC().Format(metav1.RFC3339Micro))
	}
	s.KubectlIn(t, lease(3600), "apply", "-f", "-")
	eventually(t, status("0"))
	s.Kubectl(t, "create", "namespace", "waits")
	s.Kubectl(t, "delete", "namespace", "waits", "--wait=false")
	s.KubectlIn(t, lease(1), "apply", "-f", "-")
	eventually(t, status("1"))
	gone(t, func() error {
		_, err := client.CoreV1().Namespaces().Get(ctx, "waits", metav1.GetOptions{})
		return err
	})
	if !strings.Contains(s.Output(), "A kube-controller-manager has taken its lease") {
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
	s, _ := startControlled(t, "--audit-policy-file", policy, "--audit-log-path", dir+"/log")
	s.Kubectl(t, "create", "namespace", "seen")
	s.Kubectl(t, "delete", "namespace", "seen", "--timeout=30s")
	eventually(t, func() error {
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
