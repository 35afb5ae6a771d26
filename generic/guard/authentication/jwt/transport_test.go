package jwt

import (
	"context"
	"errors"
	"net/http"
	"net/http/httptest"
	"sync/atomic"
	"testing"
)

// Responses of an issuer are only read up to the limit.
func TestEndlessDocuments(t *testing.T) {
	var sent atomic.Int64
	ended := make(chan struct{})
	s := httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		defer close(ended)
		for piece := make([]byte, 1<<16); ; {
			n, err := w.Write(piece)
			if sent.Add(int64(n)) > 256<<20 || err != nil {
				return
			}
		}
	}))
	defer s.Close()
	inner := &http.Transport{}
	defer inner.CloseIdleConnections()
	tr := &transport{owner: context.Background(), inner: inner, keys: map[string]cachedKeySet{}}
	r, err := http.NewRequestWithContext(t.Context(), http.MethodGet, s.URL, nil)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := tr.RoundTrip(r); !errors.Is(err, errTooLarge) { //nolint:bodyclose // there is none
		t.Errorf("unexpected error %v", err)
	}
	<-ended
	// This includes data in transit when the limit is reached.
	if n := sent.Load(); n > maxResponse+32<<20 {
		t.Errorf("%d MB were sent", n>>20)
	}
}
