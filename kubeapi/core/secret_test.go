package core

import (
	"bytes"
	"encoding/pem"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
)

func TestSecretWarnings(t *testing.T) {
	of := func(key []byte) *corev1.Secret {
		return &corev1.Secret{Type: corev1.SecretTypeTLS, Data: map[string][]byte{corev1.TLSCertKey: nil, corev1.TLSPrivateKeyKey: key}}
	}
	if w := secretWarnings(t.Context(), of([]byte("none")), nil); !slices.Equal(w,
		[]string{"tls: failed to find any PEM data in certificate input"}) {
		t.Errorf("got %q", w)
	}
	// An RSA key of 600 KB would keep a processor busy for a minute.
	long := pem.EncodeToMemory(&pem.Block{Type: "RSA PRIVATE KEY", Bytes: bytes.Repeat([]byte{1}, maxKeyText)})
	if w := secretWarnings(t.Context(), of(long), nil); w != nil {
		t.Errorf("got %q", w)
	}
}
