package openapi

import (
	"bytes"
	"errors"
	"net/http"
	"net/http/httptest"
	"strconv"
	"sync"
	"sync/atomic"
	"testing"

	"triplane.dev/generic/storage/wire"
)

var errNotTaken = errors.New("not taken")

// takes is a client that takes some pieces of a response, and no more.
type takes struct {
	http.ResponseWriter
	pieces int
	sizes  []int
}

func (c *takes) Write(p []byte) (int, error) {
	c.sizes = append(c.sizes, len(p))
	if len(c.sizes) > c.pieces {
		return 0, errNotTaken
	}
	return c.ResponseWriter.Write(p)
}

// largeText is not of whole pieces.
func largeText() []byte { return bytes.Repeat([]byte(`{"a text":"of a document"},`), 100_000) }

// A document without compression is unpacked as far as the client takes it.
func TestDocumentsAreUnpackedAsTheyAreTaken(t *testing.T) {
	text := largeText()
	d := newDocument(pack(text), "")
	for _, c := range []struct {
		method string
		takes  int
		writes int
		got    int
	}{
		{http.MethodGet, 1000, (len(text) + wire.DataFrame - 1) / wire.DataFrame, len(text)},
		{http.MethodGet, 2, 3, 2 * wire.DataFrame},
		{http.MethodHead, 0, 0, 0},
	} {
		recorder := httptest.NewRecorder()
		client := &takes{ResponseWriter: recorder, pieces: c.takes}
		serve(client, httptest.NewRequest(c.method, "/openapi/v2", nil), d, protoV2, nil)
		if len(client.sizes) != c.writes || !bytes.Equal(recorder.Body.Bytes(), text[:c.got]) {
			t.Errorf("%s: %d bytes in %d pieces, want %d in %d", c.method, recorder.Body.Len(), len(client.sizes), c.got, c.writes)
		}
		for _, size := range client.sizes {
			if size > wire.DataFrame {
				t.Fatalf("%s: %d bytes are unpacked at once", c.method, size)
			}
		}
		if got := recorder.Header().Get("Content-Length"); got != strconv.Itoa(len(text)) {
			t.Errorf("%s: Content-Length %s, want %d", c.method, got, len(text))
		}
	}
}

// Protobuf is converted once, however many clients request it, also where that fails.
func TestProtobufIsConvertedOnce(t *testing.T) {
	text := largeText()
	for _, fails := range []error{nil, errNotTaken} {
		d := newDocument(pack(text), "")
		var converted atomic.Int32
		var all sync.WaitGroup
		for range 8 {
			all.Go(func() {
				r := httptest.NewRequest(http.MethodGet, "/openapi/v2", nil)
				r.Header.Set("Accept", protoV2)
				w := httptest.NewRecorder()
				serve(w, r, d, protoV2, func(json []byte) ([]byte, error) {
					converted.Add(1)
					return bytes.ToUpper(json), fails
				})
				if fails != nil && w.Code != http.StatusInternalServerError ||
					fails == nil && !bytes.Equal(w.Body.Bytes(), bytes.ToUpper(text)) {
					t.Errorf("%d, %d bytes", w.Code, w.Body.Len())
				}
			})
		}
		all.Wait()
		if n := converted.Load(); n != 1 {
			t.Errorf("converted %d times", n)
		}
	}
}
