package filters

import (
	"io"
	"net/http"
	"sync"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
)

// slowBody is the body of a request that executes. While it does not arrive, what lets the request execute is others':
// the request gets it again, or an error, when the body is there.
type slowBody struct {
	io.ReadCloser
	e     *exchange
	enter func() bool // what the request did to execute
	read  int64

	mu    sync.Mutex // a proxy may read while, and after, the handler ends
	stall *stall     // of the read that goes on
	over  bool       // the handler has returned
}

// hasBody reports whether a request may have to wait for its body.
func (e *exchange) hasBody(r *http.Request) bool {
	return r.Body != nil && r.Body != http.NoBody && r.ContentLength != 0 && !e.longRunning
}

// giveBackWhileReading has a request wait for its body without what lets it execute; enter gets that again. The
// returned function has to be called when the handler has returned.
func (e *exchange) giveBackWhileReading(r *http.Request, enter func() bool) (done func()) {
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
	stall := b.e.stalls.begin(b.e, stalledLeast+b.read, true)
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

// again enters, unless there is no handler any more.
func (b *slowBody) again() bool {
	entered := b.enter()
	b.mu.Lock()
	defer b.mu.Unlock()
	if b.over {
		b.e.release()
	}
	return entered
}

// done is called when the handler has returned.
func (b *slowBody) done() {
	b.mu.Lock()
	defer b.mu.Unlock()
	b.over = true
	if b.stall != nil {
		b.stall.detach()
	}
}
