package host

import (
	"context"
	"errors"
	"fmt"
	"time"

	"k8s.io/klog/v2"

	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/serve/server"
	"triplane.dev/internal/worker"
)

// Running is a running server with its storage.
type Running struct {
	*server.PreparedServer

	stop context.CancelFunc
	done chan struct{}
	err  error // of Run; valid after done is closed
}

// Run runs a server until ctx is done, Stop is called, or the server or its storage fails. It runs undo at the
// end.
func Run(ctx context.Context, prepared *server.PreparedServer, st *Store, undo Cleanup) *Running {
	ctx, stop := context.WithCancel(ctx)
	r := &Running{PreparedServer: prepared, stop: stop, done: make(chan struct{})}
	worker.Go(func() { r.run(ctx, st, undo) })
	return r
}

func (r *Running) run(ctx context.Context, st *Store, undo Cleanup) {
	defer close(r.done)
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	ended := make(chan error, 1)
	prefilling, enough := context.WithCancel(ctx)
	defer enough()
	var prefill worker.Group
	prefill.Go(func() { r.prefill(prefilling, st) })
	worker.Go(func() {
		err := worker.Try(func() error { return r.PreparedServer.Run(ctx) })
		enough()
		prefill.Wait()
		undo.Run() // stops the storage, if it has not stopped already
		ended <- err
	})
	select {
	case r.err = <-ended:
		return
	case <-st.failed:
	}
	asked := ctx.Err() != nil
	cancel()
	if err := st.why(); err != nil {
		r.err = fmt.Errorf("the embedded etcd failed: %w", err)
		select {
		case err := <-ended:
			klog.V(2).InfoS("Server stopped after its storage failed", "err", err)
		case <-time.After(failureWithin):
		}
		return
	}
	if r.err = <-ended; r.err == nil && !asked {
		r.err = errors.New("the embedded etcd stopped")
	}
}

// prefillBytes bounds the size of the caches that are filled in advance.
const prefillBytes = 64 << 20

// prefill fills caches after the server has become ready.
func (r *Running) prefill(ctx context.Context, st *Store) {
	select {
	case <-r.HooksDone():
	case <-ctx.Done():
		return
	}
	multiplexers := st.Multiplexers()
	for _, m := range multiplexers {
		if err := m.Prefill(ctx, prefillBytes/int64(len(multiplexers))); err != nil {
			klog.V(2).InfoS("Failed to fill caches in advance", "err", err)
		}
	}
}

// failureWithin bounds the shutdown after storage has failed. Requests that wait for storage may never complete.
const failureWithin = 5 * time.Second

// AwaitReady returns when all post-start hooks have returned: then /readyz passes while etcd is healthy.
func (r *Running) AwaitReady(ctx context.Context) error {
	select {
	case <-r.HooksDone():
		return nil
	case <-r.done:
		return errors.Join(errors.New("the server stopped before it was ready"), r.err)
	case <-ctx.Done():
		return ctx.Err()
	}
}

// Stop shuts the server down gracefully and waits until it has stopped.
func (r *Running) Stop() error {
	r.stop()
	return r.Wait()
}

// Wait returns when the server has stopped: nil after a regular shutdown.
func (r *Running) Wait() error {
	<-r.done
	return r.err
}

// flushWithin bounds the export of the last spans at shutdown.
const flushWithin = 5 * time.Second

// FlushTraces exports the last spans; p may be nil.
func FlushTraces(p *tracing.Provider) {
	if p == nil {
		return
	}
	ctx, cancel := context.WithTimeout(context.Background(), flushWithin)
	defer cancel()
	if err := p.Shutdown(ctx); err != nil {
		klog.InfoS("Failed to export the last spans", "err", err)
	}
}
