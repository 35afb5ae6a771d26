package handlers

import (
	"context"
	"errors"
	"io"
	"math/rand/v2"
	"net/http"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/httpstream/wsstream"
	apiwatch "k8s.io/apimachinery/pkg/watch"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
)

// defaultMinRequestTimeout is how long watches last at least that do not say.
const defaultMinRequestTimeout = 30 * time.Minute

// watch serves the events of a resource until the client goes, the time is up or the filters end it. Over HTTP it is
// the request's continuation, where the filter chain supports that.
func (s *RequestScope) watch(ctx context.Context, w http.ResponseWriter, req *http.Request,
	opts *internalversion.ListOptions) error {
	timeout := s.watchTimeout(opts)
	// The storage sends a last bookmark shortly before the context's deadline.
	ctx, cancel := request.WithTimeout(ctx, timeout)
	stream, err := s.openStream(ctx, opts)
	if err != nil {
		cancel()
		return err
	}
	out := &sender{ctx: ctx, cancel: cancel, stream: stream, skips: request.SkipsUnreadable(ctx),
		initialized: s.initialized(ctx, opts)}
	continues := false
	defer func() {
		if !continues {
			out.end()
		}
	}()
	if out.enc, err = s.eventEncoder(req); err != nil {
		return err
	}
	if wsstream.IsWebSocketRequest(req) {
		serveWebSocket(w, req, out)
		return nil
	}
	w.Header().Set("Content-Type", negotiation.StreamName(out.enc.MediaType()))
	w.WriteHeader(http.StatusOK)
	flusher := http.NewResponseController(w)
	// A client that reads no more must not hold the watch beyond its time.
	_ = flusher.SetWriteDeadline(time.Now().Add(min(timeout, maxWatch) + stuckWatch)) // there may be no connection
	if flusher.Flush() != nil {
		return nil // the client has gone
	}
	out.send = func(batch []byte) error {
		if _, err := w.Write(batch); err != nil {
			return err
		}
		return flusher.Flush()
	}
	var rest *request.Continuation
	if rest, continues = request.Continue(ctx, out.sendReady); !continues {
		out.pump()
		return nil
	}
	request.StateFrom(ctx).AtEnd(func(any) { out.end() })
	stream.Notify(rest.Wake)
	return nil
}

// eventEncoder returns the encoder of a watch's events.
func (s *RequestScope) eventEncoder(req *http.Request) (*responsewriters.EventEncoder, error) {
	out, err := negotiation.NegotiateStream(req, s.Rules())
	if err != nil {
		return nil, err
	}
	return responsewriters.NewEventEncoder(&s.Scope, req, out)
}

// openStream begins a watch. That its revision is too old, or that of its initial events too new, is an event of a
// watch that is open, and a watch whose time is over before it begins is one without events, as in kube-apiserver.
func (s *RequestScope) openStream(ctx context.Context, opts *internalversion.ListOptions) (rest.EventStream, error) {
	if ptr.Deref(opts.TimeoutSeconds, 0) < 0 {
		return failed{&apierrors.StatusError{ErrStatus: metav1.Status{
			Status: metav1.StatusFailure, Code: http.StatusInternalServerError, Reason: metav1.StatusReasonInternalError,
			Message: context.DeadlineExceeded.Error(),
		}}}, nil
	}
	stream, err := s.Storage.Watch(ctx, opts)
	switch {
	case apierrors.IsResourceExpired(err):
		return failed{err}, nil
	case ptr.Deref(opts.SendInitialEvents, false) &&
		apierrors.HasStatusCause(err, metav1.CauseTypeResourceVersionTooLarge):
		return failed{err}, nil
	case err != nil && errors.Is(ctx.Err(), context.DeadlineExceeded):
		return failed{io.EOF}, nil
	}
	return stream, err
}

// failed is a stream of nothing but an error.
type failed struct{ err error }

// Next implements rest.EventStream.
func (f failed) Next(context.Context) ([]rest.Event, error) { return nil, f.err }

// Notify implements rest.EventStream.
func (failed) Notify(func()) {}

// Initializing implements rest.EventStream.
func (failed) Initializing() bool { return false }

// Stop implements rest.EventStream.
func (failed) Stop() {}

// initialized returns what reports the end of the initial events to the filters, and how long they took where they were
// requested; nil if there is nothing to report.
func (s *RequestScope) initialized(ctx context.Context, opts *internalversion.ListOptions) func() {
	state := request.StateFrom(ctx)
	switch {
	case state == nil:
		return nil
	case s.Watches == nil || opts.SendInitialEvents == nil || !*opts.SendInitialEvents:
		if state.Seats == nil {
			return nil
		}
		return state.Seats.Release
	}
	return func() {
		s.Watches.Initialized(state.Info.Scope(), time.Since(state.Received))
		if state.Seats != nil {
			state.Seats.Release()
		}
	}
}

const (
	// stuckWatch is how long after the end of a watch its last events may be written.
	stuckWatch = time.Minute
	// maxWatch is what a watch that asks for years is taken for here.
	maxWatch = 365 * 24 * time.Hour
)

// watchTimeout is how long a watch lasts: as the client says, else a random
// time, so that not all of them come back at once.
func (s *RequestScope) watchTimeout(opts *internalversion.ListOptions) time.Duration {
	if opts.TimeoutSeconds != nil && *opts.TimeoutSeconds > 0 {
		// Longer than a few hundred years is not representable.
		return time.Duration(min(*opts.TimeoutSeconds, int64(1<<62/time.Second))) * time.Second
	}
	least := s.MinRequestTimeout
	if least <= 0 {
		least = defaultMinRequestTimeout
	}
	return time.Duration(float64(least) * (rand.Float64() + 1))
}

// maxBatch is the size in bytes at which a batch of events is sent even though
// more are ready, so that the first ones of many do not wait, nor fill memory.
const maxBatch = 256 << 10

// batchBuffers are lent to watches while they have something to send: most of
// many watches have nothing, and shall hold nothing.
var batchBuffers = sync.Pool{New: func() any { return new([]byte) }}

// sender sends the events of one watch. It is not safe for concurrent use.
type sender struct {
	ctx    context.Context //nolint:containedctx // it lasts as long as the watch
	cancel context.CancelFunc
	stream rest.EventStream
	enc    *responsewriters.EventEncoder
	// initialized, if set, is called before the first Next that has no initial events to return.
	initialized func()
	// skips drops objects that cannot be read.
	skips bool
	// send sends a batch of events.
	send func([]byte) error
}

// end releases the watch.
func (s *sender) end() {
	s.stream.Stop()
	s.cancel()
}

// pump moves events from the stream to the client until the watch ends.
func (s *sender) pump() {
	woken := make(chan struct{}, 1)
	s.stream.Notify(func() {
		select {
		case woken <- struct{}{}:
		default:
		}
	})
	for !s.sendReady() {
		select {
		case <-woken:
		case <-s.ctx.Done():
		}
	}
}

// sendReady sends the events that are available, one batch for each Next, and reports whether the watch is over.
func (s *sender) sendReady() (over bool) {
	for {
		if s.initialized != nil && !s.stream.Initializing() {
			s.initialized()
			s.initialized = nil
		}
		events, err := s.stream.Next(storage.NoWait)
		if errors.Is(err, context.Canceled) {
			return s.ctx.Err() != nil
		}
		lent := batchBuffers.Get().(*[]byte)
		over = s.batch(lent, events, err)
		if cap(*lent) <= 2*maxBatch {
			batchBuffers.Put(lent)
		}
		if over {
			return true
		}
	}
}

// batch sends what Next returned, and reports whether the watch is over.
func (s *sender) batch(lent *[]byte, events []rest.Event, err error) (over bool) {
	buf := (*lent)[:0]
	defer func() { *lent = buf }()
	for i := range events {
		if item, ok := events[i].Object.(rest.Stored); ok && s.skips && rest.Unreadable(s.ctx, item) {
			continue
		}
		var encErr error
		if buf, encErr = s.enc.Append(buf, events[i].Type, events[i].Object); encErr != nil {
			// As kube-apiserver: the watch just ends, and the client finds out why when it gets the object.
			err = io.EOF
			if apierrors.IsStoreReadError(encErr) {
				err = encErr // lists say which objects it is
			}
			break
		}
		if len(buf) >= maxBatch || s.enc.Messages {
			if s.send(buf) != nil {
				return true
			}
			buf = buf[:0]
		}
		if events[i].Type == apiwatch.Error {
			err = io.EOF
			break
		}
	}
	if err != nil && !silent(s.ctx, err) {
		buf = s.enc.AppendError(buf, err)
	}
	if len(buf) > 0 && s.send(buf) != nil {
		return true
	}
	return err != nil
}

// silent reports the ends of a watch that clients do not see: they come back.
func silent(ctx context.Context, err error) bool {
	return errors.Is(err, io.EOF) || errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded) ||
		ctx.Err() != nil
}
