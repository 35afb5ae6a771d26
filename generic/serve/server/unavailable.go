package server

import (
	"context"
	"crypto/tls"
	"encoding/json"
	"io"
	"log"
	"net"
	"net/http"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane/internal/worker"
)

// deadlineListener is a listener whose Accept can be ended without closing it.
type deadlineListener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// unclosed ends Accept instead of closing the listener.
type unclosed struct{ deadlineListener }

// Close implements net.Listener.
func (l unclosed) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// lastUnavailable bounds how long ServeUnavailable's last requests may take.
const lastUnavailable = time.Second

// ServeUnavailable responds to all requests with 503 and a Status with a message, until stop is called. The listener is
// as before then. It does nothing with a listener that has no deadlines.
func (s *SecureServing) ServeUnavailable(message string) (stop func()) {
	listener, ok := s.Listener.(deadlineListener)
	if !ok {
		return func() {}
	}
	status := apierrors.NewServiceUnavailable(message).ErrStatus
	status.TypeMeta = metav1.TypeMeta{Kind: "Status", APIVersion: "v1"}
	status.Details = &metav1.StatusDetails{RetryAfterSeconds: 1}
	body, err := json.Marshal(status)
	if err != nil {
		return func() {} // a Status is JSON
	}
	config := s.tlsConfig()
	config.NextProtos = []string{"http/1.1"}
	serving := &http.Server{
		ReadHeaderTimeout: lastUnavailable, WriteTimeout: lastUnavailable, MaxHeaderBytes: maxHeaderBytes,
		ErrorLog: log.New(io.Discard, "", 0),
		Handler: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
			w.Header().Set("Connection", "close")
			w.Header().Set("Content-Type", "application/json")
			w.Header().Set("Retry-After", "1")
			w.WriteHeader(http.StatusServiceUnavailable)
			_, _ = w.Write(body) // or the client has left
		}),
	}
	done := make(chan struct{})
	worker.Go(func() {
		defer close(done)
		_ = serving.Serve(tls.NewListener(unclosed{listener}, config)) // it ends by Shutdown
	})
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastUnavailable)
		defer cancel()
		if serving.Shutdown(ctx) != nil {
			_ = serving.Close() // the connections that are left
		}
		<-done
		_ = listener.SetDeadline(time.Time{}) // as it was
	}
}
