package responsewriters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"net/http"
	"net/http/httptest"
	"reflect"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	clientscheme "k8s.io/client-go/kubernetes/scheme"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/wire"
)

// text is an item of a list. Its JSON is tail behind an opening brace.
type text struct {
	rest.Stored
	tail string
	// whole items cannot be shared with gets.
	whole bool
	err   error
}

func (i text) Wire(schema.GroupVersion, wire.MediaType) ([]byte, error) {
	if i.whole {
		return []byte("{" + i.tail), i.err
	}
	return []byte(`{"kind":"ConfigMap","apiVersion":"v1",` + i.tail), i.err
}

func (i text) AppendWire(dst []byte, gv schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	b, err := i.Wire(gv, mt)
	return append(dst, b...), err
}

// listed responds with a list.
func listed(t *testing.T, ctx context.Context, pretty bool, items ...rest.Stored) (*httptest.ResponseRecorder, error) {
	t.Helper()
	c, err := codec.New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	w := httptest.NewRecorder()
	a := &Response{
		Scope: &Scope{Kind: c.Kind(), Codec: c}, Writer: w, Request: httptest.NewRequestWithContext(ctx, "GET", "/", nil),
		Output: negotiation.Output{MediaType: wire.JSON, Pretty: pretty},
	}
	return w, a.Write(http.StatusOK, &rest.StoredList{Items: items, ResourceVersion: "0"})
}

func TestPrettyListIsIndentedAsWhole(t *testing.T) {
	object := text{tail: `"metadata":{"name":"a","labels":{},"x":[]},"data":{"b":"\n    0\n","c":[0,{"d":1}]}}`}
	whole := object
	whole.whole = true
	for _, items := range [][]rest.Stored{nil, {object}, {object, object}, {whole}, {whole, whole, whole}} {
		plain, err := listed(t, t.Context(), false, items...)
		if err != nil {
			t.Fatal(err)
		}
		var want bytes.Buffer
		if err := json.Indent(&want, bytes.TrimSuffix(plain.Body.Bytes(), newline), "", "  "); err != nil {
			t.Fatal(err)
		}
		got, err := listed(t, t.Context(), true, items...)
		if err != nil || got.Body.String() != want.String() {
			t.Errorf("%v\n%s\nwant\n%s", err, got.Body, &want)
		}
		if n := got.Header().Get("Content-Length"); n != fmt.Sprint(want.Len()) {
			t.Errorf("length %s, want %d", n, want.Len())
		}
	}
}

func TestLargeListIsNotCollected(t *testing.T) {
	object := text{tail: `"data":"` + strings.Repeat("x", gatherLimit/4) + `"}`}
	items := []rest.Stored{object, object, object, object, object, object}
	for _, pretty := range []bool{false, true} {
		w, err := listed(t, t.Context(), pretty, items...)
		if err != nil {
			t.Fatal(err)
		}
		var list struct{ Items []struct{ Data string } }
		if err := json.Unmarshal(w.Body.Bytes(), &list); err != nil || len(list.Items) != len(items) {
			t.Fatalf("%d items: %v", len(list.Items), err)
		}
		if n := w.Header().Get("Content-Length"); n != "" {
			t.Errorf("length %s of what was not encoded yet", n)
		}
	}

	// What cannot be encoded is an error before the response begins, and aborts it later.
	bad := text{err: errors.New("bad")}
	if _, err := listed(t, t.Context(), false, object, bad); err == nil {
		t.Error("no error before the response")
	}
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // panics are compared by identity
			t.Errorf("panic %v", p)
		}
	}()
	_, err := listed(t, t.Context(), false, append(items, bad)...)
	t.Errorf("a part was a response: %v", err)
}

// encodable is an item of a list that is encoded each time.
type encodable struct {
	rest.Stored
	*corev1.ConfigMap
	codec rest.Codec
}

func (o encodable) GetObjectKind() schema.ObjectKind { return schema.EmptyObjectKind }
func (o encodable) DeepCopyObject() runtime.Object   { return o }

func (o encodable) Decode() (runtime.Object, error) { return o.ConfigMap.DeepCopy(), nil }

func (o encodable) AppendWire(dst []byte, _ schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	return o.codec.Encode(dst, o.ConfigMap, mt)
}

func (o encodable) Wire(_ schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	return o.codec.Encode(nil, o.ConfigMap, mt)
}

func (o encodable) WireItem(_ schema.GroupVersion, mt wire.MediaType) ([]byte, error) {
	return codec.EncodeItem(o.codec, o.DeepCopy(), mt)
}

// Metadata that is read from the bytes of objects is that of the decoded objects.
func TestMetadataIsTheSameInPieces(t *testing.T) {
	c, err := codec.New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	list := &rest.StoredList{ResourceVersion: "7", Continue: "a"}
	for i := range 100 {
		obj := &corev1.ConfigMap{Data: map[string]string{"text": "x"}}
		obj.Name, obj.UID, obj.ResourceVersion = fmt.Sprint("o", i), "u", fmt.Sprint(i)
		obj.CreationTimestamp = metav1.Unix(int64(i), 0)
		if i%3 == 0 {
			obj.Labels = map[string]string{"b": "<", "a": ""}
			obj.ManagedFields = []metav1.ManagedFieldsEntry{{Manager: "m", FieldsV1: &metav1.FieldsV1{Raw: []byte(`{"f:a":{}}`)}}}
		}
		list.Items = append(list.Items, encodable{ConfigMap: obj, codec: c})
	}
	for _, output := range []negotiation.Output{{MediaType: wire.JSON, Version: "v1"}, {MediaType: wire.JSON, Version: "v1beta1"},
		{MediaType: wire.Protobuf, Version: "v1"}, {MediaType: wire.CBOR, Version: "v1"}} {
		output.Transform = negotiation.PartialObjectMetadataList
		a := &Response{Scope: &Scope{Kind: c.Kind(), Codec: c}, Request: httptest.NewRequest(http.MethodGet, "/", nil), Output: output}
		want, err := a.transformed(list)
		if err != nil {
			t.Fatal(err)
		}
		for _, limit := range []int{0, 1000, math.MaxInt} {
			e, err := a.metadataEnvelope(t.Context(), list, limit)
			if err != nil {
				t.Fatal(err)
			}
			if got := e.bytes(); !bytes.Equal(got, want) && !equalCBOR(got, want) { // its members have no order
				t.Errorf("%v:\n%s\nwant\n%s", output, got, want)
			}
			if (e.more == nil) != (limit == math.MaxInt) {
				t.Errorf("%v: collected up to %d", output, limit)
			}
		}
	}
}

func equalCBOR(a, b []byte) bool {
	var one, other any
	return wire.UnmarshalCBOR(a, &one) == nil && wire.UnmarshalCBOR(b, &other) == nil && reflect.DeepEqual(one, other)
}

// In each form, a list that is encoded while it is written is the one that is collected.
func TestListsAreTheSameInPieces(t *testing.T) {
	c, err := codec.New(clientscheme.Scheme, corev1.SchemeGroupVersion.WithKind("ConfigMap"), codec.Options{})
	if err != nil {
		t.Fatal(err)
	}
	s := &Scope{Kind: c.Kind(), Codec: c}
	list := &rest.StoredList{ResourceVersion: "7", Continue: "a"}
	for i := range 300 {
		obj := &corev1.ConfigMap{Data: map[string]string{
			"long": strings.Repeat("words to fold ", i%20), "lines": "\n- 0\n", "number": "1e3", "text": strings.Repeat("x", i),
		}}
		obj.Name = fmt.Sprint("o", i)
		list.Items = append(list.Items, encodable{ConfigMap: obj, codec: c})
	}
	convert := func(e *envelope, form string) {
		switch form {
		case "yaml":
			err = e.convert(t.Context(), asYAML)
		case "pretty":
			err = e.convert(t.Context(), indented)
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	for form, mt := range map[string]wire.MediaType{"json": wire.JSON, "pretty": wire.JSON, "yaml": wire.JSON,
		"protobuf": wire.Protobuf, "cbor": wire.CBOR} {
		whole, err := s.storedEnvelope(t.Context(), nil, list, mt, math.MaxInt)
		if err != nil {
			t.Fatal(err)
		}
		if form == "yaml" {
			want, err := toYAML(whole.bytes())
			if err != nil {
				t.Fatal(err)
			}
			if convert(whole, form); !bytes.Equal(whole.bytes(), want) {
				t.Errorf("%s\nwant\n%s", whole.bytes(), want)
			}
		} else {
			convert(whole, form)
		}
		for _, limit := range []int{0, 5000} {
			e, err := s.storedEnvelope(t.Context(), nil, list, mt, limit)
			if err != nil {
				t.Fatal(err)
			}
			if convert(e, form); !bytes.Equal(e.bytes(), whole.bytes()) {
				t.Errorf("%s: %s\nwant\n%s", form, e.bytes(), whole.bytes())
			}
			if e.more == nil || (e.left > 0) != (mt == wire.Protobuf) || e.left > 0 && e.size() != whole.size() {
				t.Errorf("%s: size %d, %d of it left, want %d", form, e.size(), e.left, whole.size())
			}
		}
	}
}

// A large table is encoded while it is written.
func TestLargeTableIsNotCollected(t *testing.T) {
	encoded, failing := 0, -1
	resource := &rest.Resource{
		Row: func(rest.Stored) (wire.Row, bool, error) {
			if encoded++; encoded == failing {
				return nil, false, nil
			}
			row, err := wire.EncodeRow([]any{strings.Repeat("x", gatherLimit/4)}, nil, metav1.ObjectMeta{Name: "a"}, &wire.Ages{})
			return row, true, err
		},
		RowColumns: func() []metav1.TableColumnDefinition { return []metav1.TableColumnDefinition{{Name: "Name"}} },
	}
	write := func() *httptest.ResponseRecorder {
		w := httptest.NewRecorder()
		a := &Response{Scope: &Scope{Storage: resource}, Writer: w, Request: httptest.NewRequest(http.MethodGet, "/", nil),
			Output: negotiation.Output{MediaType: wire.JSON, Transform: negotiation.Table, Version: "v1"}}
		if err := a.Write(http.StatusOK, &rest.StoredList{Items: make([]rest.Stored, 6)}); err != nil {
			t.Fatal(err)
		}
		return w
	}
	w := write()
	var table metav1.Table
	if err := json.Unmarshal(w.Body.Bytes(), &table); err != nil || len(table.Rows) != 6 {
		t.Fatalf("%d rows: %v", len(table.Rows), err)
	}
	if n := w.Header().Get("Content-Length"); n != "" {
		t.Errorf("length %s of what was not encoded yet", n)
	}
	encoded, failing = 0, 6
	defer func() {
		if p := recover(); p != http.ErrAbortHandler { //nolint:errorlint // panics are compared by identity
			t.Errorf("panic %v", p)
		}
	}()
	write()
	t.Error("a part was a response")
}

func TestListEndsWithItsRequest(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	items := make([]rest.Stored, 64)
	for i := range items {
		items[i] = text{tail: "}"}
	}
	if _, err := listed(t, ctx, false, items...); !errors.Is(err, context.Canceled) {
		t.Errorf("error %v", err)
	}
}

var _ runtime.Object = text{}
