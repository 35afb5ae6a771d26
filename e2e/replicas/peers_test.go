// A replica proxies requests for a version that only its peer serves.

package replicas

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/run/pki"
)

const betaClasses = "/apis/resource.k8s.io/v1beta2/deviceclasses"

// TestPeersServeWhatOneDoesNot runs two servers on one etcd of which only the second
// serves a beta version: the first passes requests for it on, and lists it, as long as the
// second can be reached.
func TestPeersServeWhatOneDoesNot(t *testing.T) {
	keys, err := pki.Ensure(t.TempDir(), pki.Config{Names: []string{"kubernetes.default.svc"},
		IPs: []net.IP{net.IPv4(127, 0, 0, 1)}, FrontProxy: "front"})
	if err != nil {
		t.Fatal(err)
	}
	args := []string{"--etcd-servers", harness.StartEtcd(t), "--peer-ca-file", keys.CACert,
		"--peer-advertise-ip=127.0.0.1",
		"--requestheader-client-ca-file", keys.FrontProxyCACert, "--requestheader-allowed-names=front",
		"--requestheader-username-headers=X-Remote-User", "--requestheader-group-headers=X-Remote-Group",
		"--proxy-client-cert-file", keys.FrontProxyClientCert, "--proxy-client-key-file", keys.FrontProxyClientKey}
	first := harness.Start(t, args...)
	second := harness.Start(t, append(args, "--tls-cert-file", keys.ServingCert,
		"--tls-private-key-file", keys.ServingKey, "--runtime-config=resource.k8s.io/v1beta2=true")...)
	client := kubernetes.NewForConfigOrDie(first.Config)
	awaitPeer(t, client)

	usePeer(t, client)
	checkPeerDiscovery(t, client)
	loop, _ := client.RESTClient().Get().AbsPath(betaClasses).SetHeader("X-Kubernetes-Peer-Proxied", "true").
		Do(t.Context()).Error().(apierrors.APIStatus)
	if loop == nil || loop.Status().Code != 404 {
		t.Errorf("what was passed on already is answered with %v", loop)
	}

	// A new start takes nothing of the other's away.
	if err := first.Terminate(t); err != nil {
		t.Fatal(err)
	}
	first.Restart(t)
	awaitPeer(t, client)
	checkPeerDiscovery(t, client)

	second.Kill()
	raw, err := client.RESTClient().Get().AbsPath(betaClasses).MaxRetries(0).DoRaw(t.Context())
	if !apierrors.IsServiceUnavailable(err) || !strings.HasPrefix(string(raw), "error trying to reach service: ") {
		t.Errorf("without the other: %v, %s", err, raw)
	}
}

// awaitPeer waits until what only the other serves is there.
func awaitPeer(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			_, err := client.ResourceV1beta2().DeviceClasses().List(ctx, metav1.ListOptions{})
			return err == nil, nil
		})
	if err != nil {
		t.Fatal("what another server serves is not there")
	}
}

// usePeer writes and reads what only the other serves.
func usePeer(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	classes := client.ResourceV1beta2().DeviceClasses()
	watch, err := classes.Watch(t.Context(), metav1.ListOptions{})
	if err != nil {
		t.Fatal(err)
	}
	defer watch.Stop()
	if _, err := classes.Create(t.Context(), &resourcev1beta2.DeviceClass{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-watch.ResultChan():
		if c, ok := e.Object.(*resourcev1beta2.DeviceClass); !ok || c.Name != "a" {
			t.Errorf("the watch says %v", e)
		}
	case <-time.After(30 * time.Second):
		t.Error("the watch says nothing")
	}
	if _, err := client.ResourceV1().DeviceClasses().Get(t.Context(), "a", metav1.GetOptions{}); err != nil {
		t.Errorf("what was written through the other: %v", err)
	}
	if err := classes.Delete(t.Context(), "a", metav1.DeleteOptions{}); err != nil {
		t.Error(err)
	}
}

// checkPeerDiscovery looks for the other's version in the discovery of all, and in that of
// the first alone.
func checkPeerDiscovery(t *testing.T, client *kubernetes.Clientset) {
	t.Helper()
	for profile, want := range map[string]bool{"": true, ";profile=nopeer": false} {
		raw, err := client.RESTClient().Get().AbsPath("/apis").
			SetHeader("Accept", "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList"+profile).DoRaw(t.Context())
		if err != nil {
			t.Fatal(err)
		}
		_, group, _ := strings.Cut(string(raw), `"name":"resource.k8s.io"`)
		_, version, found := strings.Cut(group, `"version":"v1beta2"`)
		if lists := found && strings.HasPrefix(version, `,"resources":[{"resource":"deviceclasses"`); lists != want {
			t.Errorf("with %q, discovery lists what the other serves: %t\n%.400s", profile, lists, version)
		}
	}
}
