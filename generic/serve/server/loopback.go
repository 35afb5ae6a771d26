package server

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net/http"
	"runtime/debug"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	restclient "k8s.io/client-go/rest"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/serve/requestmetrics"
	"triplane.dev/internal/worker"
)

// loopbackTransport sends requests of clients in this process to the handler chain, without a socket and TLS. The
// handler runs in a separate goroutine and streams its response through a pipe, so that watches work as over HTTP.
type loopbackTransport struct {
	ready   chan struct{}
	once    sync.Once
	handler http.Handler
	metrics *requestmetrics.Clients
}

func newLoopbackTransport() *loopbackTransport {
	return &loopbackTransport{ready: make(chan struct{})}
}

// serve sets the handler, releases waiting requests, and counts requests.
func (t *loopbackTransport) serve(h http.Handler, m *requestmetrics.Clients) {
	t.once.Do(func() {
		t.handler, t.metrics = h, m
		close(t.ready)
	})
}

// clientConfig returns a client configuration without a rate limit, because the server's own limits apply.
func (t *loopbackTransport) clientConfig() *restclient.Config {
	return &restclient.Config{
		Host:      "http://loopback.invalid",
		Transport: t,
		QPS:       -1,
		UserAgent: "kube-apiserver",
		ContentConfig: restclient.ContentConfig{
			ContentType:        "application/vnd.kubernetes.protobuf",
			AcceptContentTypes: "application/vnd.kubernetes.protobuf,application/json",
		},
	}
}

// SkippingUnreadable returns a loopback configuration whose lists and watches omit stored objects that cannot be
// decoded.
func SkippingUnreadable(c *restclient.Config) *restclient.Config {
	c = restclient.CopyConfig(c)
	c.Wrap(func(next http.RoundTripper) http.RoundTripper { return skipping{next} })
	return c
}

type skipping struct{ next http.RoundTripper }

// RoundTrip implements http.RoundTripper. Handlers receive the values of the context.
func (s skipping) RoundTrip(r *http.Request) (*http.Response, error) {
	return s.next.RoundTrip(r.WithContext(request.SkippingUnreadable(r.Context())))
}

// RoundTrip calls the handler and returns when it has written the header.
func (t *loopbackTransport) RoundTrip(req *http.Request) (*http.Response, error) {
	begun := time.Now()
	resp, err := t.call(req)
	select {
	case <-t.ready:
		code := 0
		if resp != nil {
			code = resp.StatusCode
		}
		t.metrics.Done(req.Method, req.URL.Host, max(req.ContentLength, 0), code, time.Since(begun))
	default: // the server did not start
	}
	return resp, err
}

func (t *loopbackTransport) call(req *http.Request) (*http.Response, error) {
	select {
	case <-t.ready:
	case <-req.Context().Done():
		if req.Body != nil {
			req.Body.Close()
		}
		return nil, req.Context().Err()
	}
	ctx, cancel := context.WithCancel(authentication.WithLoopback(req.Context()))
	in := req.Clone(ctx)
	in.RequestURI = in.URL.RequestURI()
	in.RemoteAddr = "127.0.0.1:0"
	in.Host = req.URL.Host
	in.Proto, in.ProtoMajor, in.ProtoMinor = "HTTP/2.0", 2, 0
	if in.Body == nil {
		in.Body = http.NoBody
	}

	pr, pw := io.Pipe()
	w := &pipeResponse{header: http.Header{}, body: pw, wrote: make(chan struct{})}
	stop := context.AfterFunc(ctx, func() { pr.CloseWithError(context.Cause(ctx)) })
	worker.Go(func() {
		defer cancel()
		defer stop()
		defer in.Body.Close()
		defer w.finish()
		t.handler.ServeHTTP(w, in)
	})

	select {
	case <-w.wrote:
	case <-ctx.Done():
		select {
		case <-w.wrote: // the handler returned before its context was done
		default:
			cancel()
			return nil, context.Cause(ctx)
		}
	}
	return &http.Response{
		Status:        fmt.Sprintf("%d %s", w.status, http.StatusText(w.status)),
		StatusCode:    w.status,
		Proto:         "HTTP/2.0",
		ProtoMajor:    2,
		Header:        w.sent,
		Body:          &pipeBody{PipeReader: pr, cancel: cancel, done: t.received(req)},
		ContentLength: -1,
		Request:       req,
	}, nil
}

// pipeResponse is the ResponseWriter of a loopback request. The handler's goroutine owns header and status until
// wrote is closed.
type pipeResponse struct {
	header http.Header
	sent   http.Header // copy of header when the status was written
	status int
	body   *io.PipeWriter
	wrote  chan struct{}
}

func (w *pipeResponse) Header() http.Header { return w.header }

func (w *pipeResponse) WriteHeader(status int) {
	if w.status != 0 || status < 200 {
		return
	}
	w.status = status
	w.sent = w.header.Clone()
	close(w.wrote)
}

func (w *pipeResponse) Write(p []byte) (int, error) {
	w.WriteHeader(http.StatusOK)
	if len(p) == 0 {
		return 0, nil
	}
	return w.body.Write(p)
}

// Flush writes the header; the body is never buffered.
func (w *pipeResponse) Flush() { w.WriteHeader(http.StatusOK) }

// finish completes the response after the handler returned or panicked.
func (w *pipeResponse) finish() {
	p := recover()
	if p == nil {
		w.WriteHeader(http.StatusOK)
		_ = w.body.Close() // closing a pipe never fails
		return
	}
	if p != http.ErrAbortHandler { //nolint:errorlint // panics are compared by identity, as in net/http
		klog.ErrorS(fmt.Errorf("%v", p), "Handler of a loopback request panicked", "stack", string(debug.Stack()))
	}
	w.WriteHeader(http.StatusInternalServerError)
	w.body.CloseWithError(errors.New("the handler aborted the response"))
}

// received returns a function that counts the bytes of a response. It does not count watches.
func (t *loopbackTransport) received(req *http.Request) func(bytes int64) {
	if strings.Contains(req.URL.RawQuery, "watch=") {
		return func(int64) {}
	}
	return func(bytes int64) { t.metrics.Received(req.Method, req.URL.Host, bytes) }
}

// pipeBody cancels the handler's context when the client closes it, like the end of a connection.
type pipeBody struct {
	*io.PipeReader
	cancel context.CancelFunc
	bytes  atomic.Int64
	once   sync.Once
	done   func(bytes int64)
}

func (b *pipeBody) Read(p []byte) (int, error) {
	n, err := b.PipeReader.Read(p)
	b.bytes.Add(int64(n))
	return n, err
}

func (b *pipeBody) Close() error {
	b.once.Do(func() { b.done(b.bytes.Load()) })
	b.cancel()
	return b.PipeReader.Close()
}
