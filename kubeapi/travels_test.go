package kubeapi_test

import (
	"fmt"
	"strings"
	"testing"

	"k8s.io/apimachinery/pkg/api/equality"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/randfill"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// What is looked for in the bytes of bodies: an object may have it anywhere.
var lookedFor = []string{
	"1e9999", "0E1234-", "-9", "7e", "e12345", "null", `"apiVersion"`, "apiVersion", "\\", `\u0061`, "]}", "{}", "ownerReferences:", "\x00", "\n", "ü", "\U0001f600",
	"k8s\x00", "true", "0x1", "~", "- ", "#", ": ", "=", "", " ",
}

// trickyFiller fills objects with texts and UIDs that consist of such pieces.
func trickyFiller(seed int64) *randfill.Filler {
	text := func(c randfill.Continue) (s string) {
		for range c.Intn(4) {
			s += lookedFor[c.Intn(len(lookedFor))]
		}
		return s
	}
	return filler(seed).Funcs(
		func(s *string, c randfill.Continue) { *s = text(c) },
		func(u *types.UID, c randfill.Continue) { *u = types.UID(fmt.Sprintf("%x", c.Uint64()) + text(c)) },
		func(r *runtime.RawExtension, c randfill.Continue) {
			r.Raw, r.Object = []byte(`{"a":["`+strings.Repeat("7", c.Intn(5))+`e12345"]}`), nil
		},
		func(m *metav1.ObjectMeta, c randfill.Continue) {
			c.FillNoCustom(m)
			m.ResourceVersion, m.SelfLink = "", ""
		},
	)
}

// An object that was encoded is decoded as it was: all kinds, versions and media types, strictly and not.
func TestObjectsTravel(t *testing.T) {
	stores, travelled := stored(t), 0
	for gr, store := range stores.All() {
		s := store.Resource()
		for _, gv := range s.Versions {
			codec, err := s.Codec(gv)
			if err != nil {
				t.Fatal(err)
			}
			travelled++
			for seed := range int64(4) {
				obj := s.New()
				trickyFiller(seed).Fill(obj)
				if err := travel(codec, obj); err != nil {
					t.Errorf("%s in %s, seed %d: %v", gr, gv, seed, err)
					break
				}
			}
		}
	}
	if travelled < 70 {
		t.Errorf("%d versions of kinds", travelled)
	}
}

// travel encodes an object of the hub version in all media types, and compares what is decoded of that.
func travel(codec rest.Codec, obj runtime.Object) error {
	versioned, err := codec.FromHub(obj)
	if err != nil {
		return nil // the version cannot say all that the filler does
	}
	for name, mt := range map[string]wire.MediaType{"JSON": wire.JSON, "YAML": wire.YAML, "protobuf": wire.Protobuf, "CBOR": wire.CBOR} {
		if !codec.Supports(mt) {
			continue
		}
		body, err := codec.Encode(nil, versioned.DeepCopyObject(), mt)
		if err != nil {
			return fmt.Errorf("%s: %w", name, err)
		}
		if mt == wire.YAML {
			body = append(body, '\n') // whoever writes it adds it
		}
		for _, strict := range []bool{false, true} {
			got, kind, strictErrs, err := codec.Decode(body, mt, strict)
			if err != nil || len(strictErrs) > 0 {
				return fmt.Errorf("%s, strict %t: %v, %w", name, strict, strictErrs, err)
			}
			if *kind != codec.Kind() {
				return fmt.Errorf("%s: a %s becomes a %s", name, codec.Kind(), kind)
			}
			want := versioned.DeepCopyObject()
			want.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			got.GetObjectKind().SetGroupVersionKind(schema.GroupVersionKind{})
			if !equality.Semantic.DeepEqual(got, want) {
				return fmt.Errorf("%s, strict %t:\n got %v\nwant %v", name, strict, got, want)
			}
		}
	}
	return nil
}
