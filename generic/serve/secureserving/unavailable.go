package secureserving

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

	"triplane.dev/internal/worker"
)

// deadlineListener is a listener whose Accept can be interrupted without closing it.
type deadlineListener interface {
	net.Listener
	SetDeadline(t time.Time) error
}

// unclosed interrupts Accept instead of closing the listener.
type unclosed struct{ deadlineListener }

// Close implements net.Listener.
func (l unclosed) Close() error { return l.SetDeadline(time.Unix(1, 0)) }

// lastUnavailable bounds the duration of ServeUnavailable's last requests.
const lastUnavailable = time.Second

// ServeUnavailable responds to all requests with 503 and a Status with the message, until stop is called.
// Afterwards the listener is usable as before. If the listener does not support deadlines, it does nothing.
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
		return func() {} // a Status is always valid JSON
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
			_, _ = w.Write(body) // fails only on closed connections
		}),
	}
	done := make(chan struct{})
	worker.Go(func() {
		defer close(done)
		_ = serving.Serve(tls.NewListener(unclosed{listener}, config)) // returns after Shutdown
	})
	return func() {
		ctx, cancel := context.WithTimeout(context.Background(), lastUnavailable)
		defer cancel()
		if serving.Shutdown(ctx) != nil {
			_ = serving.Close() // closes the remaining connections
		}
		<-done
		_ = listener.SetDeadline(time.Time{}) // resets the deadline
	}
}
