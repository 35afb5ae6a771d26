package e2e

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	policyv1 "k8s.io/api/policy/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"
)

// TestQuotasRecover fills a quota, and makes room.
func TestQuotasRecover(t *testing.T) {
	s, client := startControlled(t)
	serveWidgets(t, s)
	ctx := t.Context()
	s.Kubectl(t, "create", "namespace", "small")
	s.Kubectl(t, "-n", "small", "create", "secret", "generic", "before")
	s.Kubectl(t, "-n", "small", "create", "quota", "q", "--hard=secrets=2,count/widgets.example.com=1,pods=1,requests.cpu=1")
	used := func(name corev1.ResourceName, want string) {
		t.Helper()
		eventually(t, func() error {
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
	if out, err := s.TryKubectl(t, "", "-n", "small", "create", "secret", "generic", "b"); err == nil || !strings.Contains(out, "exceeded quota: q") {
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
	eventually(t, func() error { _, err := s.TryKubectl(t, pod, "create", "-f", "-"); return err }) // with its account
	used("requests.cpu", "300m")
	s.Kubectl(t, "-n", "small", "patch", "pod", "p", "--subresource=status", "--type=merge", "-p", `{"status":{"phase":"Succeeded"}}`)
	used("requests.cpu", "0")
}

// TestClusterRolesAggregate adds rules to a role by the label of another.
func TestClusterRolesAggregate(t *testing.T) {
	s, client := startControlled(t)
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
	eventually(t, has(true))
	s.Kubectl(t, "delete", "clusterrole", "extra-view")
	eventually(t, has(false))
}

// TestVolumesAreProtected deletes a claim that a pod uses.
func TestVolumesAreProtected(t *testing.T) {
	s, client := startControlled(t)
	ctx := t.Context()
	eventually(t, func() error {
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
	gone(t, func() error {
		_, err := client.CoreV1().PersistentVolumeClaims("default").Get(ctx, "c", metav1.GetOptions{})
		return err
	})
}

// TestFinishedJobsGo lets a Job's time run out.
func TestFinishedJobsGo(t *testing.T) {
	s, client := startControlled(t)
	s.KubectlIn(t, `
apiVersion: batch/v1
kind: Job
metadata: {name: j}
spec: {ttlSecondsAfterFinished: 1, template: {spec: {restartPolicy: Never, containers: [{name: c, image: i}]}}}
`, "apply", "-f", "-")
	now := time.Now().UTC().Format(time.RFC3339)
	s.Kubectl(t, "patch", "job", "j", "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
		`{"status":{"startTime":%q,"conditions":[{"type":"FailureTarget","status":"True","lastTransitionTime":%q},{"type":"Failed","status":"True","lastTransitionTime":%q}]}}`, now, now, now))
	gone(t, func() error {
		_, err := client.BatchV1().Jobs("default").Get(t.Context(), "j", metav1.GetOptions{})
		return err
	})
}

// TestKubeletsGetCertificates asks as a node's bootstrap user, and uses what comes.
func TestKubeletsGetCertificates(t *testing.T) {
	s, client := startControlled(t)
	ctx := t.Context()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := func(name, commonName string, groups ...string) *certificatesv1.CertificateSigningRequest {
		der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName, Organization: groups}}, key)
		if err != nil {
			t.Fatal(err)
		}
		seconds := int32(3600)
		return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name}, Spec: certificatesv1.CertificateSigningRequestSpec{
			Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
			SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, ExpirationSeconds: &seconds,
			Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
		}}
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	if _, err := requests.Create(ctx, request("node", "system:node:n", "system:nodes"), metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var issued []byte
	eventually(t, func() error {
		csr, err := requests.Get(ctx, "node", metav1.GetOptions{})
		if err == nil && len(csr.Status.Certificate) == 0 {
			err = fmt.Errorf("no certificate: %v", csr.Status)
		}
		if err == nil {
			issued = csr.Status.Certificate
		}
		return err
	})
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(issued, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	if life := pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore); life != time.Hour+5*time.Minute {
		t.Errorf("the certificate lives %v", life)
	}
	config := rest.AnonymousClientConfig(s.Config)
	config.CertData, config.KeyData = issued, keyPEM
	node := kubernetes.NewForConfigOrDie(config)
	if _, err := node.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}}, metav1.CreateOptions{}); err != nil {
		t.Errorf("the node cannot use its certificate: %v", err)
	}

	wrong := request("wrong", "system:node:n", "system:masters")
	if _, err := requests.Create(ctx, wrong, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Kubectl(t, "certificate", "approve", "wrong")
	eventually(t, func() error {
		csr, err := requests.Get(ctx, "wrong", metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(csr.Status.Conditions, func(c certificatesv1.CertificateSigningRequestCondition) bool {
			return c.Type == certificatesv1.CertificateFailed
		}) {
			err = fmt.Errorf("not refused: %v", csr.Status)
		}
		return err
	})
}

// TestServicesHaveSlices follows the slices of a Service, of Endpoints, and the
// status of a budget while pods come and go.
func TestServicesHaveSlices(t *testing.T) {
	s, client := startControlled(t)
	ctx := t.Context()
	eventually(t, func() error {
		_, err := client.CoreV1().ServiceAccounts("default").Get(ctx, "default", metav1.GetOptions{})
		return err
	})
	s.KubectlIn(t, `
apiVersion: v1
kind: Service
metadata: {name: web}
spec: {selector: {app: web}, ports: [{name: http, port: 80, targetPort: named}]}
---
apiVersion: v1
kind: Service
metadata: {name: outside}
spec: {ports: [{port: 80}]}
---
apiVersion: v1
kind: Endpoints
metadata: {name: outside}
subsets: [{addresses: [{ip: 192.0.2.7}], ports: [{port: 8080}]}]
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: b}
spec: {minAvailable: 1, selector: {matchLabels: {app: web}}}
---
apiVersion: policy/v1
kind: PodDisruptionBudget
metadata: {name: unmanaged}
spec: {maxUnavailable: 1, selector: {matchLabels: {app: web}}}
`, "apply", "-f", "-")
	slicesOf := func(service string) ([]discoveryv1.EndpointSlice, error) {
		list, err := client.DiscoveryV1().EndpointSlices("default").List(ctx, metav1.ListOptions{LabelSelector: discoveryv1.LabelServiceName + "=" + service})
		if err != nil {
			return nil, err
		}
		return list.Items, nil
	}
	addresses := func(service, want string) {
		t.Helper()
		eventually(t, func() error {
			list, err := slicesOf(service)
			if err != nil {
				return err
			}
			var got []string
			for _, s := range list {
				for _, e := range s.Endpoints {
					got = append(got, fmt.Sprintf("%s:%d %v", e.Addresses[0], *s.Ports[0].Port, *e.Conditions.Ready))
				}
			}
			slices.Sort(got)
			if text := strings.Join(got, ", "); text != want || len(list) != 1 {
				return fmt.Errorf("%d slices, endpoints %q, want %q", len(list), text, want)
			}
			return nil
		})
	}
	allowed := func(want int32) {
		t.Helper()
		eventually(t, func() error {
			b, err := client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "b", metav1.GetOptions{})
			if err == nil && (b.Status.DisruptionsAllowed != want || b.Status.ObservedGeneration != b.Generation) {
				err = fmt.Errorf("status %v", b.Status)
			}
			return err
		})
	}
	addresses("web", "")
	addresses("outside", "192.0.2.7:8080 true")
	for i, name := range []string{"a", "b"} {
		s.KubectlIn(t, fmt.Sprintf(`{"apiVersion":"v1","kind":"Pod","metadata":{"name":%q,"labels":{"app":"web"}},
			"spec":{"nodeName":"n","containers":[{"name":"c","image":"i","ports":[{"name":"named","containerPort":8081}]}]}}`, name), "create", "-f", "-")
		s.Kubectl(t, "patch", "pod", name, "--subresource=status", "--type=merge", "-p", fmt.Sprintf(
			`{"status":{"phase":"Running","podIP":"10.1.0.%d","podIPs":[{"ip":"10.1.0.%d"}],"conditions":[{"type":"Ready","status":"True"}]}}`, i+1, i+1))
	}
	addresses("web", "10.1.0.1:8081 true, 10.1.0.2:8081 true")
	allowed(1)
	eventually(t, func() error { // nothing says how many pods without a controller there should be
		b, err := client.PolicyV1().PodDisruptionBudgets("default").Get(ctx, "unmanaged", metav1.GetOptions{})
		if err == nil && (b.Status.ExpectedPods != 0 || b.Status.CurrentHealthy != 2 || len(b.Status.Conditions) == 0 || b.Status.Conditions[0].Reason != policyv1.InsufficientPodsReason) {
			err = fmt.Errorf("status %v", b.Status)
		}
		if err != nil {
			return err
		}
		events, err := client.CoreV1().Events("default").List(ctx, metav1.ListOptions{FieldSelector: "reason=UnmanagedPods,involvedObject.name=unmanaged"})
		if err == nil && len(events.Items) == 0 {
			err = errors.New("no event")
		}
		return err
	})
	s.KubectlIn(t, `{"apiVersion":"v1","kind":"Node","metadata":{"name":"n","labels":{"topology.kubernetes.io/zone":"z"}}}`, "create", "-f", "-")
	for _, c := range []struct{ distribution, zone, want string }{
		{"PreferClose", "z", `{"forZones":[{"name":"z"}]}`},
		{"PreferSameNode", "z", `{"forZones":[{"name":"z"}],"forNodes":[{"name":"n"}]}`},
		{"PreferSameNode", "y", `{"forZones":[{"name":"y"}],"forNodes":[{"name":"n"}]}`},
	} {
		s.Kubectl(t, "patch", "service", "web", "--type=merge", "-p", fmt.Sprintf(`{"spec":{"trafficDistribution":%q}}`, c.distribution))
		s.Kubectl(t, "label", "node", "n", "--overwrite", "topology.kubernetes.io/zone="+c.zone)
		eventually(t, func() error {
			list, err := slicesOf("web")
			if err != nil {
				return err
			}
			for _, e := range list[0].Endpoints {
				if got, err := json.Marshal(e.Hints); err != nil || string(got) != c.want {
					return fmt.Errorf("%s: hints %s (%w), want %s", c.distribution, got, err, c.want)
				}
			}
			return nil
		})
	}
	s.Kubectl(t, "patch", "pod", "a", "--subresource=status", "--type=merge", "-p", `{"status":{"conditions":[{"type":"Ready","status":"False"}]}}`)
	addresses("web", "10.1.0.1:8081 false, 10.1.0.2:8081 true")
	allowed(0)
	s.Kubectl(t, "delete", "pod", "a", "--grace-period=0", "--force")
	addresses("web", "10.1.0.2:8081 true")
	s.Kubectl(t, "delete", "endpointslice", "-l", discoveryv1.LabelServiceName+"=web")
	addresses("web", "10.1.0.2:8081 true")
	s.Kubectl(t, "delete", "service", "web", "outside")
	eventually(t, func() error {
		for _, name := range []string{"web", "outside"} {
			if list, err := slicesOf(name); err != nil || len(list) > 0 {
				return fmt.Errorf("slices of %s: %v (%w)", name, list, err)
			}
		}
		return nil
	})
}
