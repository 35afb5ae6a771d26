package kmstest

import (
	"bytes"
	"context"
	"errors"
	"sync/atomic"
	"testing"

	"google.golang.org/grpc"
	kmsapi "k8s.io/kms/apis/v1beta1"
)

// PluginV1 is a KMS v1 plugin. It is safe for concurrent use.
type PluginV1 struct {
	kmsapi.UnimplementedKeyManagementServiceServer
	Sick atomic.Bool
	// Wrong makes Decrypt return another key than was encrypted.
	Wrong atomic.Bool
	// Encrypts and Decrypts count calls.
	Encrypts, Decrypts atomic.Int32
}

// StartV1 serves a plugin on a socket until the test ends.
func StartV1(t testing.TB, socket string) *PluginV1 {
	t.Helper()
	k := &PluginV1{}
	serve(t, socket, func(s *grpc.Server) { kmsapi.RegisterKeyManagementServiceServer(s, k) })
	return k
}

const sealedV1 = "E:"

// Encrypt implements kmsapi.KeyManagementServiceServer.
func (k *PluginV1) Encrypt(_ context.Context, r *kmsapi.EncryptRequest) (*kmsapi.EncryptResponse, error) {
	k.Encrypts.Add(1)
	if k.Sick.Load() || r.Version != "v1beta1" {
		return nil, errors.New("the HSM is on fire")
	}
	return &kmsapi.EncryptResponse{Cipher: append([]byte(sealedV1), r.Plain...)}, nil
}

// Decrypt implements kmsapi.KeyManagementServiceServer.
func (k *PluginV1) Decrypt(_ context.Context, r *kmsapi.DecryptRequest) (*kmsapi.DecryptResponse, error) {
	k.Decrypts.Add(1)
	plain, ok := bytes.CutPrefix(r.Cipher, []byte(sealedV1))
	if !ok || r.Version != "v1beta1" {
		return nil, errors.New("that is not of this plugin")
	}
	if k.Wrong.Load() {
		plain = make([]byte, len(plain))
	}
	return &kmsapi.DecryptResponse{Plain: plain}, nil
}
