package encryption

import (
	"bytes"
	"testing"

	"k8s.io/apimachinery/pkg/runtime/schema"
)

// Wildcards do not match internal records of the server, as in kube-apiserver. Those that an older release
// encrypted can be read, and are not encrypted after their next write.
func TestWildcardsSkipInternalRecords(t *testing.T) {
	for _, resource := range notEncrypted {
		for _, wildcard := range []string{`"*."`, `"*.*"`} {
			t.Run(resource+" "+wildcard, func(t *testing.T) {
				const key = "/registry/own/record"
				w := newWorld(t, file(entry(wildcard, withKeys("aescbc", "key1", secret32)+", {identity: {}}")))
				own := w.providers.View(w.raw, schema.GroupResource{Resource: resource})
				sealed, err := w.view.seal(t.Context(), key, []byte("old"))
				if err != nil || !bytes.HasPrefix(sealed, []byte(encPrefix)) {
					t.Fatalf("secrets are stored as %q, %v", sealed, err)
				}
				revision, err := w.raw.Create(t.Context(), key, sealed, 0)
				if err != nil {
					t.Fatal(err)
				}
				if kv, err := own.Get(t.Context(), key); err != nil || string(kv.Value) != "old" || !kv.Stale {
					t.Errorf("read %q, stale %v, %v", kv.Value, kv.Stale, err)
				}
				if _, err := own.Update(t.Context(), key, []byte("new"), revision, 0); err != nil {
					t.Fatal(err)
				}
				if kv, err := w.raw.Get(t.Context(), key); err != nil || string(kv.Value) != "new" {
					t.Errorf("stored %q, %v", kv.Value, err)
				}
				if kv, err := own.Get(t.Context(), key); err != nil || string(kv.Value) != "new" || kv.Stale {
					t.Errorf("read %q, stale %v, %v", kv.Value, kv.Stale, err)
				}
			})
		}
	}
}
