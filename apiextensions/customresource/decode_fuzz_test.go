package customresource

import (
	"bytes"
	"testing"

	"triplane.dev/generic/storage/wire"
)

// No body of a custom resource may end in a panic, and what was read and
// completed is read back as itself.
func FuzzDecodeBody(f *testing.F) {
	d := testDefinition(f)
	codec := d.versions["v1"].codec
	for _, seed := range storedSeeds {
		f.Add([]byte(seed), uint8(wire.JSON), true)
		f.Add([]byte(seed), uint8(wire.YAML), false)
		if obj, _, _, err := codec.Decode([]byte(seed), wire.JSON, false); err == nil {
			b, err := codec.Encode(nil, obj, wire.CBOR)
			if err != nil {
				f.Fatal(err)
			}
			f.Add(b, uint8(wire.CBOR), true)
		}
	}
	f.Fuzz(func(t *testing.T, body []byte, mt uint8, strict bool) {
		obj, kind, _, err := codec.Decode(body, wire.MediaType(mt%4), strict)
		if err != nil || kind == nil || *kind != codec.Kind() {
			return
		}
		codec.Default(obj)
		hub, err := codec.ToHub(obj)
		if err != nil {
			t.Fatal(err)
		}
		first, err := codec.Encode(nil, hub, wire.JSON)
		if err != nil {
			t.Fatalf("read, but not written: %v", err)
		}
		again, _, strictErrs, err := codec.Decode(first, wire.JSON, true)
		if err != nil || len(strictErrs) > 0 {
			t.Fatalf("%s: %v %v", first, strictErrs, err)
		}
		codec.Default(again)
		if second, err := codec.Encode(nil, again, wire.JSON); err != nil || !bytes.Equal(first, second) {
			t.Fatalf("%s\nbecame\n%s, %v", first, second, err)
		}
	})
}
