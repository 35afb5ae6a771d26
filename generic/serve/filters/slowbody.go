package filters

import (
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// slowBody is the body of an executing request. While the client does not send it, the request releases its seats.
// It acquires them again when the body has arrived, or fails.
type slowBody struct {
	io.ReadCloser
	e     *exchange
	enter func() bool // acquires seats or a place in a limiter
	read  int64

	mu    sync.Mutex // a proxy may read while the handler ends, and afterwards
	stall *stall     // of the read in progress
	over  bool       // the handler has returned
}

// hasBody reports whether a request may have to wait for its body.
func (e *exchange) hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 && !e.longRunning
}

// releaseWhileReading makes a request release its seats while it waits for its body; enter acquires them again.
// The caller must call the returned function when the handler has returned.
func (e *exchange) releaseWhileReading(r *http.Request, enter func() bool) (done func()) {
	b := &slowBody{ReadCloser: r.Body, e: e, enter: enter}
	r.Body = b
	return b.done
}

// Read implements io.Reader.
func (b *slowBody) Read(p []byte) (int, error) {
	b.mu.Lock()
	if b.over {
		b.mu.Unlock()
		return b.ReadCloser.Read(p)
	}
	stall := b.e.stalls.begin(b.e, stalledLeast+b.read, true, nil)
	b.stall = stall
	b.mu.Unlock()

	n, err := b.ReadCloser.Read(p)

	b.mu.Lock()
	b.stall = nil
	b.mu.Unlock()
	stall.end()
	b.read += int64(n)
	if ended := err != nil || b.read == b.e.client.ContentLength; ended && !b.e.seated.Load() && !b.again() {
		return n, apierrors.NewTooManyRequests("Too many requests, please try again later.", 1)
	}
	return n, err
}

// again acquires the seats again. If the handler has returned, it releases them at once.
func (b *slowBody) again() bool {
	entered := b.enter()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		b.e.Release()
	}
	return entered
}

// done marks that the handler has returned.
func (b *slowBody) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.stall != nil {
		b.stall.detach()
	}
}
