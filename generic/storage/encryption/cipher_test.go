package encryption

import (
	"bytes"
	"encoding/hex"
	"errors"
	"testing"
)

func unhex(t testing.TB, s string) []byte {
	t.Helper()
	b, err := hex.DecodeString(s)
	if err != nil {
		t.Fatal(err)
	}
	return b
}

func counting(n int) []byte {
	b := make([]byte, n)
	for i := range b {
		b[i] = byte(i)
	}
	return b
}

var ciphers = map[string]func([]byte) (cipher, error){"aesgcm": newGCM, "aescbc": newCBC, "secretbox": newBox, "seeded": newSeeded}

func TestCiphersRoundTrip(t *testing.T) {
	for name, make := range ciphers {
		c, err := make(counting(32))
		if err != nil {
			t.Fatal(err)
		}
		for _, n := range []int{0, 1, 15, 16, 17, 4096} {
			value := counting(n)
			stored, err := c.seal([]byte("before"), value, "/a")
			if err != nil || !bytes.HasPrefix(stored, []byte("before")) {
				t.Fatalf("%s: %v", name, err)
			}
			stored = stored[len("before"):]
			got, err := c.open(stored, "/a")
			if err != nil || !bytes.Equal(got, value) {
				t.Errorf("%s: %d bytes came back as %d, %v", name, n, len(got), err)
			}
			if again, _ := c.seal(nil, value, "/a"); bytes.Equal(again, stored) {
				t.Errorf("%s: the same value is stored twice alike", name)
			}
			for cut := range min(len(stored), 64) {
				if got, err := c.open(stored[:cut], "/a"); err == nil {
					t.Errorf("%s: %d of %d bytes were opened: %x", name, cut, len(stored), got)
				}
			}
		}
	}
}

// Ciphers that authenticate the key in etcd do not decrypt a value of another key.
func TestValuesBelongToTheirKeys(t *testing.T) {
	for name, make := range map[string]func([]byte) (cipher, error){"aesgcm": newGCM, "seeded": newSeeded} {
		c, err := make(counting(32))
		if err != nil {
			t.Fatal(err)
		}
		stored, err := c.seal(nil, []byte("value"), "/registry/secrets/a/b")
		if err != nil {
			t.Fatal(err)
		}
		if _, err := c.open(stored, "/registry/secrets/a/c"); err == nil {
			t.Errorf("%s: a value was opened under another key", name)
		}
	}
}

func TestCBCChecksPadding(t *testing.T) {
	c, err := newCBC(counting(16))
	if err != nil {
		t.Fatal(err)
	}
	stored, err := c.seal(nil, []byte("value"), "")
	if err != nil {
		t.Fatal(err)
	}
	wrong, err := newCBC(bytes.Repeat([]byte{9}, 16))
	if err != nil {
		t.Fatal(err)
	}
	for _, test := range []struct {
		name   string
		cipher cipher
		stored []byte
		want   error
	}{
		{"another key", wrong, counting(32), errPadding}, // of random texts one in 256 has a valid padding
		{"no block", c, stored[:16], errPadding},
		{"half a block", c, stored[:24], errBlocks},
		{"no vector", c, stored[:8], errShort},
	} {
		if _, err := test.cipher.open(test.stored, ""); !errors.Is(err, test.want) {
			t.Errorf("%s: got %v, want %v", test.name, err, test.want)
		}
	}
}

// The published test vector of NaCl's secretbox.
func TestSecretboxVector(t *testing.T) {
	c, err := newBox(unhex(t, "1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389"))
	if err != nil {
		t.Fatal(err)
	}
	nonce := "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37"
	got, err := c.open(unhex(t, nonce+"f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a"+
		"c0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae90224368517acfeabd6bb3732bc0e9da9"+
		"9832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74e355a5"), "")
	want := "be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffce5ecbaaf33bd751a1ac728d45e6c61296cdc3c01233561f41db66cce314adb31" +
		"0e3be8250c46f06dceea3a7fa1348057e2f6556ad6b1318a024a838f21af1fde048977eb48f59ffd4924ca1c60902e52f0a089bc76897040e082f937763848645e0705"
	if err != nil || hex.EncodeToString(got) != want {
		t.Errorf("got %x, %v", got, err)
	}
}
