package workspaces

import (
	"bufio"
	"context"
	"encoding/json"
	"io"
	"net/http"

	"triplane.dev/generic/base/request"
	"triplane.dev/internal/worker"
)

// maxEvent bounds the bytes of an event of a watch in all workspaces.
const maxEvent = 16 << 20

// watchAll responds with the events of all workspaces that awake has, each in order. It ends when one of the watches
// ends, and when there is another workspace: the client lists again, as after every end of a watch.
func (m *Manager) watchAll(w http.ResponseWriter, r *http.Request, awake []*instance) {
	ctx, cancel := context.WithCancel(r.Context())
	defer cancel()
	events := make(chan json.RawMessage)
	var watches worker.Group
	defer watches.Wait()
	defer cancel()
	for _, i := range awake {
		watches.Go(func() {
			defer cancel()
			i.watch(ctx, r, events)
		})
	}
	defer context.AfterFunc(m.nextAdded(), cancel)()
	if s := request.StateFrom(ctx); s != nil && s.Initialized != nil {
		s.Initialized()
	}
	w.Header().Set("Content-Type", "application/json")
	w.WriteHeader(http.StatusOK)
	flush := http.NewResponseController(w)
	_ = flush.Flush() // the next write fails, too
	for {
		select {
		case e := <-events:
			if _, err := w.Write(append(e, '\n')); err != nil {
				return
			}
			_ = flush.Flush()
		case <-ctx.Done():
			return
		}
	}
}

// nextAdded returns a context that is done when there is another workspace.
func (m *Manager) nextAdded() context.Context {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.added == nil {
		m.added, m.announce = context.WithCancel(context.Background())
	}
	return m.added
}

// watch sends the events of one workspace to events until ctx is done.
func (i *instance) watch(ctx context.Context, r *http.Request, events chan<- json.RawMessage) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	defer i.onStop(cancel)()
	lines, out := io.Pipe()
	var reading worker.Group
	defer reading.Wait()
	defer func() { _ = out.Close() }() // closing a pipe never fails
	reading.Go(func() {
		if i.forward(ctx, lines, events) != nil {
			cancel()
		}
		_, _ = io.Copy(io.Discard, lines) // the response of a workspace that does not serve the resource
	})
	stop := context.AfterFunc(ctx, func() { _ = lines.CloseWithError(ctx.Err()) })
	defer stop()
	response := &streamed{header: http.Header{}, out: out, code: http.StatusOK}
	i.chain.Handler.ServeHTTP(response, asJSON(r, r.URL.RawQuery).WithContext(ctx))
	if response.code == http.StatusNotFound { // the workspace does not serve the resource
		<-ctx.Done()
	}
}

// forward sends the annotated events of a response to events.
func (i *instance) forward(ctx context.Context, lines io.Reader, events chan<- json.RawMessage) error {
	scan := bufio.NewScanner(lines)
	scan.Buffer(nil, maxEvent)
	for scan.Scan() {
		var e struct {
			Type   string          `json:"type"`
			Object json.RawMessage `json:"object"`
		}
		if err := json.Unmarshal(scan.Bytes(), &e); err != nil {
			return err
		}
		var err error
		switch e.Type {
		case "BOOKMARK": // of one workspace only
			continue
		case "ADDED", "MODIFIED", "DELETED":
			if e.Object, err = annotated(e.Object, i.entry.name); err != nil {
				return err
			}
		}
		raw, err := json.Marshal(e)
		if err != nil {
			return err
		}
		select {
		case events <- raw:
		case <-ctx.Done():
			return ctx.Err()
		}
	}
	return scan.Err()
}

// streamed is a ResponseWriter whose body another goroutine reads.
type streamed struct {
	header http.Header
	out    io.Writer
	code   int
}

// Header implements http.ResponseWriter.
func (s *streamed) Header() http.Header { return s.header }

// WriteHeader implements http.ResponseWriter.
func (s *streamed) WriteHeader(code int) { s.code = code }

// Write implements io.Writer.
func (s *streamed) Write(p []byte) (int, error) {
	if s.code != http.StatusOK {
		return len(p), nil // forward reads events only
	}
	return s.out.Write(p)
}

// Flush implements http.Flusher.
func (s *streamed) Flush() {}
