package bootstrap

import (
	"context"
	"errors"
	"net"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane/generic/registry"
	"triplane/generic/storage"
	"triplane/generic/storage/embedded"
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
	a, b := NewIdentity(nil, &net.TCPAddr{IP: net.ParseIP("192.0.2.2"), Port: 6443}), NewIdentity(nil, &net.TCPAddr{IP: net.ParseIP("192.0.2.2"), Port: 6444})
	if a.Name() == b.Name() || a.Name() != NewIdentity(nil, &net.TCPAddr{IP: net.ParseIP("192.0.2.2"), Port: 6443}).Name() {
		t.Errorf("%s and %s", a.Name(), b.Name())
	}
}
