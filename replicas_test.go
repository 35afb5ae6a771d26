package triplane

import (
	"context"
	"net"
	"net/url"
	"path/filepath"
	"testing"
	"time"

	"go.etcd.io/etcd/server/v3/embed"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	restclient "k8s.io/client-go/rest"
)

// startEtcd starts an etcd with a listener, and returns its URL.
func startEtcd(t *testing.T) string {
	t.Helper()
	config := embed.NewConfig()
	config.Dir = t.TempDir()
	config.LogLevel, config.LogOutputs = "error", []string{filepath.Join(config.Dir, "log")}
	any, err := url.Parse("http://127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	config.ListenClientUrls, config.ListenPeerUrls = []url.URL{*any}, []url.URL{*any}
	config.AdvertiseClientUrls, config.AdvertisePeerUrls = []url.URL{*any}, []url.URL{*any}
	config.InitialCluster = config.InitialClusterFromName(config.Name)
	e, err := embed.StartEtcd(config)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(e.Close)
	select {
	case <-e.Server.ReadyNotify():
	case <-time.After(20 * time.Second):
		t.Fatal("etcd is not ready")
	}
	return "http://" + e.Clients[0].Addr().String()
}

// TestReplicas runs two servers on one etcd with the same keys.
func TestReplicas(t *testing.T) {
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	etcd := startEtcd(t)
	keys := filepath.Join(t.TempDir(), "first", "pki")
	replica := func(dir string) *Server {
		o := testOptions(dir)
		o.Etcd.Servers = []string{etcd}
		o.SecureServing.BindAddress = net.IPv4(127, 0, 0, 1)
		if filepath.Dir(keys) != dir {
			o.Authentication.ClientCAFile = filepath.Join(keys, "ca.crt")
			o.Authentication.ServiceAccount.SigningKeyFile = filepath.Join(keys, "sa.key")
		}
		s, err := Start(ctx, o)
		if err != nil {
			t.Fatal(err)
		}
		t.Cleanup(func() {
			if err := s.Stop(); err != nil {
				t.Error(err)
			}
		})
		return s
	}
	first, second := replica(filepath.Dir(keys)), replica(t.TempDir())
	a := kubernetes.NewForConfigOrDie(first.ClientConfig())
	b := kubernetes.NewForConfigOrDie(second.ClientConfig())

	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Name: "sa"}}
	if _, err := a.CoreV1().ServiceAccounts("default").Create(ctx, account, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	request, err := a.CoreV1().ServiceAccounts("default").CreateToken(ctx, "sa", &authenticationv1.TokenRequest{}, metav1.CreateOptions{})
	if err != nil {
		t.Fatal(err)
	}
	// The other replica accepts a token at once, even if it is not in its cache yet.
	review, err := b.AuthenticationV1().TokenReviews().Create(ctx, &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: request.Status.Token}}, metav1.CreateOptions{})
	if err != nil || !review.Status.Authenticated {
		t.Errorf("%v, %v", review, err)
	}
	if _, err := b.CoreV1().ServiceAccounts("default").Get(ctx, "sa", metav1.GetOptions{}); err != nil {
		t.Errorf("what one wrote the other does not read: %v", err)
	}
	// Both replicas accept the administrator's certificate.
	admin, err := first.AdminConfig()
	if err != nil {
		t.Fatal(err)
	}
	other := restclient.CopyConfig(admin)
	other.Host = "https://" + second.Address()
	other.TLSClientConfig.CAData, other.TLSClientConfig.Insecure = nil, true
	if _, err := kubernetes.NewForConfigOrDie(other).CoreV1().Secrets("").List(ctx, metav1.ListOptions{}); err != nil {
		t.Error(err)
	}
	// Both allocate addresses, and none twice.
	taken := map[string]bool{}
	for i := range 10 {
		c := []kubernetes.Interface{a, b}[i%2]
		s, err := c.CoreV1().Services("default").Create(ctx, &corev1.Service{ObjectMeta: metav1.ObjectMeta{GenerateName: "s-"},
			Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 1}}}}, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if taken[s.Spec.ClusterIP] {
			t.Errorf("%s was given twice", s.Spec.ClusterIP)
		}
		taken[s.Spec.ClusterIP] = true
	}
}

// A server whose address is not published for the Service kubernetes still has it for its peers, and in its identity.
func TestPeersFindServersWithoutEndpoints(t *testing.T) {
	o := testOptions(t.TempDir())
	o.ServerRun.AdvertiseAddress, o.Kube.EndpointReconciler = net.IPv4(192, 0, 2, 1), ReconcilerNone
	if endpoint, peer := o.advertised(), o.advertisedToPeers(6443); endpoint != nil || peer.String() != "192.0.2.1:6443" {
		t.Errorf("advertised %v, to peers %v", endpoint, peer)
	}
}
