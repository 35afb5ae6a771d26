package encryption

import (
	"bytes"
	"context"
	"path/filepath"
	"strings"
	"testing"

	"triplane.dev/generic/storage/encryption/kmstest"
)

// FuzzOpen decrypts arbitrary bytes with all providers. It must not panic. Decrypted values were encrypted with
// the same chain or are plain, and encrypted values can be decrypted.
func FuzzOpen(f *testing.F) {
	socket := filepath.Join(f.TempDir(), "kms.sock")
	kmstest.Start(f, socket)
	r, err := newRules([]byte(file(entry("secrets", strings.Join([]string{
		withKeys("aesgcm", "key1", secret32), withKeys("aescbc", "key1", secret32), withKeys("secretbox", "key1", secret32),
		kmsProvider(socket), "{identity: {}}"}, ", ")))), false, newMetrics(""))
	if err != nil {
		f.Fatal(err)
	}
	f.Cleanup(r.close)
	c := r.chainOf(secrets)
	for _, stored := range golden {
		f.Add(unhex(f, stored))
	}
	f.Fuzz(func(t *testing.T, stored []byte) {
		kept := bytes.Clone(stored)
		value, _, err := c.open(context.Background(), stored, "/registry/secrets/default/golden")
		if !bytes.Equal(stored, kept) {
			t.Error("what was stored was changed")
		}
		if err != nil {
			return
		}
		if len(value) > len(stored) {
			t.Errorf("%d bytes came out of %d", len(value), len(stored))
		}
		for _, provider := range c[:4] {
			sealed, err := chain{provider}.seal(context.Background(), value, "/a")
			if err != nil {
				t.Fatal(err)
			}
			if again, _, err := c.open(context.Background(), sealed, "/a"); err != nil || !bytes.Equal(again, value) {
				t.Errorf("%s gave back %d of %d bytes, %v", provider.prefix(), len(again), len(value), err)
			}
		}
	})
}
