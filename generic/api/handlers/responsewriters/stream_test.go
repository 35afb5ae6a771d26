package responsewriters

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
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

func (i text) WireItem(schema.GroupVersion, wire.MediaType) ([]byte, error) {
	return []byte("{" + i.tail), i.err
}

func (i text) WireItemTail(schema.GroupVersion) ([]byte, bool, error) {
	return []byte(i.tail), !i.whole, i.err
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
