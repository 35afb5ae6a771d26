package kmstest

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"slices"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	"google.golang.org/grpc/metadata"
	kmsapi "k8s.io/kms/apis/v2"
)

// Plugin is a plugin whose key can change, and that can fall ill. It is safe for
// concurrent use.
type Plugin struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	// ID is the id of the key, a string; at first "kek-1".
	ID   atomic.Value
	Sick atomic.Bool
	// Garbage is answered instead, where it has an answer to the call.
	Garbage atomic.Pointer[Garbage]
	// Encrypts and Decrypts are how often the plugin was asked to.
	Encrypts, Decrypts atomic.Int32
}

// Garbage is what a plugin answers that is broken, or an attacker's.
type Garbage struct {
	Status  *kmsapi.StatusResponse
	Encrypt *kmsapi.EncryptResponse
	Decrypt *kmsapi.DecryptResponse
}

func (k *Plugin) garbage() Garbage {
	if g := k.Garbage.Load(); g != nil {
		return *g
	}
	return Garbage{}
}

const annotation = "version.encryption.remote.io"

// Start serves a plugin at a socket until the test ends.
func Start(t testing.TB, socket string) *Plugin {
	t.Helper()
	k := &Plugin{}
	k.ID.Store("kek-1")
	serve(t, socket, func(s *grpc.Server) { kmsapi.RegisterKeyManagementServiceServer(s, k) })
	return k
}

// strict refuses calls whose :authority is no host, as HTTP/2 servers that are not written in Go do.
func strict(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if md, _ := metadata.FromIncomingContext(ctx); !slices.Equal(md.Get(":authority"), []string{"localhost"}) {
		return nil, fmt.Errorf("the authority is %q", md.Get(":authority"))
	}
	return next(ctx, r)
}

// serve serves what register registers at a socket until the test ends.
func serve(t testing.TB, socket string, register func(*grpc.Server)) {
	t.Helper()
	l, err := net.Listen("unix", socket)
	if err != nil {
		t.Fatal(err)
	}
	s := grpc.NewServer(grpc.UnaryInterceptor(strict))
	register(s)
	done := make(chan struct{})
	go func() { defer close(done); _ = s.Serve(l) }()
	t.Cleanup(func() { s.Stop(); <-done })
}

func scramble(in []byte) []byte {
	out := bytes.Clone(in)
	for i := range out {
		out[i] ^= 0x5a
	}
	return out
}

// Status implements kmsapi.KeyManagementServiceServer.
func (k *Plugin) Status(context.Context, *kmsapi.StatusRequest) (*kmsapi.StatusResponse, error) {
	if g := k.garbage().Status; g != nil {
		return g, nil
	}
	s := &kmsapi.StatusResponse{Version: "v2", Healthz: "ok", KeyId: k.ID.Load().(string)}
	if k.Sick.Load() {
		s.Healthz = "the HSM is on fire"
	}
	return s, nil
}

// Encrypt implements kmsapi.KeyManagementServiceServer.
func (k *Plugin) Encrypt(_ context.Context, r *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	k.Encrypts.Add(1)
	if g := k.garbage().Encrypt; g != nil {
		return g, nil
	}
	return &kmsapi.EncryptResponse{Ciphertext: scramble(r.Plaintext), KeyId: k.ID.Load().(string), Annotations: map[string][]byte{annotation: []byte("1")}}, nil
}

// Decrypt implements kmsapi.KeyManagementServiceServer.
func (k *Plugin) Decrypt(_ context.Context, r *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	k.Decrypts.Add(1)
	if g := k.garbage().Decrypt; g != nil {
		return g, nil
	}
	if string(r.Annotations[annotation]) != "1" || r.Uid == "" {
		return nil, errors.New("annotations or uid are missing")
	}
	return &kmsapi.DecryptResponse{Plaintext: scramble(r.Ciphertext)}, nil
}
