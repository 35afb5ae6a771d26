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

// Plugin is a KMS v2 plugin whose key and health tests can change. It is safe for concurrent use.
type Plugin struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	// ID is the key ID, a string. It starts as "kek-1".
	ID   atomic.Value
	Sick atomic.Bool
	// Garbage replaces responses, for calls that have one.
	Garbage atomic.Pointer[Garbage]
	// Encrypts and Decrypts count calls.
	Encrypts, Decrypts atomic.Int32
}

// Garbage has invalid or malicious responses.
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

// Start serves a plugin on a socket until the test ends.
func Start(t testing.TB, socket string) *Plugin {
	t.Helper()
	k := &Plugin{}
	k.ID.Store("kek-1")
	serve(t, socket, func(s *grpc.Server) { kmsapi.RegisterKeyManagementServiceServer(s, k) })
	return k
}

// strict rejects calls with an invalid :authority, like HTTP/2 servers in other languages than Go.
func strict(ctx context.Context, r any, _ *grpc.UnaryServerInfo, next grpc.UnaryHandler) (any, error) {
	if md, _ := metadata.FromIncomingContext(ctx); !slices.Equal(md.Get(":authority"), []string{"localhost"}) {
		return nil, fmt.Errorf("the authority is %q", md.Get(":authority"))
	}
	return next(ctx, r)
}

// serve serves a gRPC service on a socket until the test ends.
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
	return &kmsapi.EncryptResponse{Ciphertext: scramble(r.Plaintext), KeyId: k.ID.Load().(string),
		Annotations: map[string][]byte{annotation: []byte("1")}}, nil
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
