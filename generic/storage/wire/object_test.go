package wire

import (
	"encoding/json"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// A Status has the same content in all media types, including its kind.
func TestMarshalStatus(t *testing.T) {
	const message = "not <found>\n\"ü\""
	for _, tt := range []struct {
		mt     MediaType
		starts string
	}{
		{JSON, `{"kind":"Status","apiVersion":"v1","metadata":{}`},
		{YAML, "apiVersion: v1\n"},
		{Protobuf, "k8s\x00\n\x0c\n\x02v1\x12\x06Status"},
		{CBOR, "\xd9\xd9\xf7"},
	} {
		b, err := MarshalStatus(&metav1.Status{Status: metav1.StatusFailure, Message: message, Code: 404}, tt.mt)
		if err != nil || len(b) < len(tt.starts) || string(b[:len(tt.starts)]) != tt.starts {
			t.Errorf("media type %d: %q, %v; want a beginning of %q", tt.mt, b, err, tt.starts)
			continue
		}
		var back metav1.Status
		switch tt.mt {
		case JSON:
			err = json.Unmarshal(b, &back)
		case Protobuf:
			err = UnmarshalStored(b, &back)
		case CBOR:
			err = UnmarshalCBOR(b, &back)
		default:
			continue
		}
		if err != nil || back.Message != message || back.Code != 404 {
			t.Errorf("media type %d: read back as %+v, %v", tt.mt, back, err)
		}
	}
	if _, err := Marshal(&metav1.Table{}, Protobuf); err == nil {
		t.Error("a kind without protobuf was encoded")
	}
}

func TestAppendString(t *testing.T) {
	for _, s := range []string{"", "plain", `"\`, "<&>", "ü\u2028", "\x00\x1f\x7f", "\xff"} {
		want, err := json.Marshal(s)
		if err != nil {
			t.Fatal(err)
		}
		if got := AppendString([]byte("x"), s); string(got) != "x"+string(want) {
			t.Errorf("%q: %s, want x%s", s, got, want)
		}
	}
}

// The library decodes strings of every length class.
func TestAppendCBORString(t *testing.T) {
	for _, n := range []int{0, 23, 24, 255, 256, 65535, 65536} {
		s := string(make([]byte, n))
		var back any
		if err := UnmarshalCBOR(AppendCBORString(AppendCBORTag(nil), s), &back); err != nil || back != s {
			t.Errorf("%d bytes: %v", n, err)
		}
	}
}
