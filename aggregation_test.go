package triplane

import (
	"crypto/tls"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"
	aggregator "k8s.io/kube-aggregator/pkg/client/clientset_generated/clientset"
	"k8s.io/utils/ptr"
)

// ownAddress returns an address of this machine that endpoints may have, nil if it has none.
func ownAddress() net.IP {
	all, err := net.InterfaceAddrs()
	if err != nil {
		return nil
	}
	for _, a := range all {
		if n, ok := a.(*net.IPNet); ok && n.IP.IsGlobalUnicast() && n.IP.To4() != nil {
			return n.IP
		}
	}
	return nil
}

// TestServiceWithoutKubeProxy connects to an external API server behind a ClusterIP Service: with the embedded
// etcd there is no kube-proxy.
func TestServiceWithoutKubeProxy(t *testing.T) {
	ip := ownAddress()
	if ip == nil {
		t.Skip("this machine has loopback addresses only, which endpoints must not have")
	}
	l, err := net.Listen("tcp", net.JoinHostPort(ip.String(), "0"))
	if err != nil {
		t.Fatal(err)
	}
	remote := &httptest.Server{Listener: l, Config: &http.Server{Handler: http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		certificate := "no certificate"
		if len(r.TLS.PeerCertificates) > 0 {
			certificate = r.TLS.PeerCertificates[0].Subject.CommonName
		}
		if r.URL.Path == "/apis/ext.example.com/v1" {
			io.WriteString(w, `{"kind":"APIResourceList","groupVersion":"ext.example.com/v1","resources":[{"name":"things","kind":"Thing","verbs":["get"]}]}`)
			return
		}
		io.WriteString(w, r.Header.Get("X-Remote-User")+" by "+certificate)
	})}}
	remote.TLS = &tls.Config{ClientAuth: tls.RequestClientCert}
	remote.StartTLS()
	defer remote.Close()
	s := startServer(t, t.TempDir())
	kube, ctx := client(t, s), t.Context()

	svc := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Name: "ext"}, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 443}}}}
	if _, err := kube.CoreV1().Services("default").Create(ctx, svc, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	slice := &discoveryv1.EndpointSlice{
		ObjectMeta:  metav1.ObjectMeta{Name: "ext-1", Labels: map[string]string{discoveryv1.LabelServiceName: "ext"}},
		AddressType: discoveryv1.AddressTypeIPv4,
		Ports:       []discoveryv1.EndpointPort{{Name: ptr.To(""), Port: ptr.To(int32(l.Addr().(*net.TCPAddr).Port))}},
		Endpoints:   []discoveryv1.Endpoint{{Addresses: []string{ip.String()}}},
	}
	if _, err := kube.DiscoveryV1().EndpointSlices("default").Create(ctx, slice, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	api := &apiregistrationv1.APIService{
		ObjectMeta: metav1.ObjectMeta{Name: "v1.ext.example.com"},
		Spec: apiregistrationv1.APIServiceSpec{
			Group: "ext.example.com", Version: "v1", GroupPriorityMinimum: 100, VersionPriority: 10, InsecureSkipTLSVerify: true,
			Service: &apiregistrationv1.ServiceReference{Namespace: "default", Name: "ext"},
		},
	}
	services := aggregator.NewForConfigOrDie(s.ClientConfig()).ApiregistrationV1().APIServices()
	if _, err := services.Create(ctx, api, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	get := func(path string) string {
		body, err := kube.Discovery().RESTClient().Get().AbsPath(path).DoRaw(ctx)
		if err != nil {
			return err.Error()
		}
		return string(body)
	}
	const want = "triplane-admin by front-proxy-client"
	deadline := time.Now().Add(15 * time.Second)
	got := get("/apis/ext.example.com/v1/things/a")
	for ; got != want; got = get("/apis/ext.example.com/v1/things/a") {
		if time.Now().After(deadline) {
			a, _ := services.Get(ctx, api.Name, metav1.GetOptions{})
			t.Fatalf("%s, want %s; %+v", got, want, a.Status)
		}
		time.Sleep(10 * time.Millisecond)
	}
	list, err := kube.Discovery().ServerResourcesForGroupVersion("ext.example.com/v1")
	if err != nil || len(list.APIResources) != 1 || list.APIResources[0].Name != "things" {
		t.Errorf("discovery: %v, %v", list, err)
	}
}
