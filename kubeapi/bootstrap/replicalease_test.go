package bootstrap

import (
	"context"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/storage"
	"triplane.dev/generic/storage/embedded"
)

func TestPeerLease(t *testing.T) {
	ctx := context.Background()
	s, err := embedded.Start(ctx, embedded.Config{Dir: t.TempDir()})
	if err != nil {
		t.Fatal(err)
	}
	defer s.Close()
	backend := s.Backend()
	p := NewPeer(registry.RESTOptions{Backend: backend, Prefix: "/registry"}, "apiserver-x", net.IPv4(192, 0, 2, 2), 6443)
	const key = "/registry/peerserverleases/apiserver-x"
	for generation := int64(1); generation <= 2; generation++ {
		if err := p.Renew(ctx); err != nil {
			t.Fatal(err)
		}
		kv, err := backend.Get(ctx, key)
		if err != nil {
			t.Fatal(err)
		}
		var u runtime.Unknown
		var e corev1.Endpoints
		if err := errors.Join(u.Unmarshal(kv.Value[4:]), e.Unmarshal(u.Raw)); err != nil {
			t.Fatal(err)
		}
		if e.Generation != generation || e.Labels["apiserverIdentity"] != "apiserver-x" ||
			e.Subsets[0].Addresses[0].IP != "192.0.2.2" || e.Subsets[0].Ports[0].Port != 6443 {
			t.Errorf("after renewal %d: %+v", generation, e)
		}
	}
	for range 2 { // what is gone need not go
		if err := p.Leave(ctx); err != nil {
			t.Fatal(err)
		}
	}
	if _, err := backend.Get(ctx, key); !errors.Is(err, storage.ErrNotFound) {
		t.Errorf("the lease is left behind: %v", err)
	}
}

func TestIdentityIsOfAnAddress(t *testing.T) {
	at := func(ip string, port int) string {
		return NewIdentity(nil, &net.TCPAddr{IP: net.ParseIP(ip), Port: port}).Name()
	}
	usual := at("192.0.2.2", 6443)
	for _, other := range []string{at("192.0.2.2", 6444), at("192.0.2.3", 6444), at("192.0.2.2", 6445)} {
		if other == usual {
			t.Errorf("two servers of a host are %s", usual)
		}
	}
	if a, b := at("192.0.2.2", 6444), at("192.0.2.3", 6444); a == b {
		t.Errorf("two addresses are %s", a)
	}
	if usual != at("192.0.2.3", 6443) || usual != NewIdentity(nil, nil).Name() {
		t.Error("a server has another name when its address changes")
	}
}

// The name that kube-apiserver 1.36 gives its lease on a host "vm".
func TestIdentityIsThatOfKubeAPIServer(t *testing.T) {
	if got, want := identityOf("vm", "kube-apiserver"), "apiserver-wlv32tlttr4jl3gtroqexyxapa"; got != want {
		t.Errorf("%s, want %s", got, want)
	}
}
