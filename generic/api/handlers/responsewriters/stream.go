package responsewriters

import (
	"context"
	"io"
	"net/http"

	"triplane.dev/generic/api/rest"
)

// Stream writes the plain bytes of a subresource, such as a pod's log.
func (s *Scope) Stream(ctx context.Context, w http.ResponseWriter, r *http.Request, source rest.Streamer) error {
	in, flush, contentType, err := source.InputStream(ctx, s.Kind.GroupVersion().String(), r.Header.Get("Accept"))
	if err != nil {
		return err
	}
	if in == nil {
		w.WriteHeader(http.StatusNoContent)
		return nil
	}
	defer func() { _ = in.Close() }()
	if contentType == "" {
		contentType = "application/octet-stream"
	}
	w.Header().Set("Content-Type", contentType)
	w.WriteHeader(http.StatusOK)
	var out io.Writer = w
	if flush {
		out = &flushWriter{w: w, c: http.NewResponseController(w)}
	}
	// The status is sent: an error can only end the response.
	_, _ = io.Copy(out, in)
	return nil
}

// flushWriter sends what is written at once.
type flushWriter struct {
	w io.Writer
	c *http.ResponseController
}

func (f *flushWriter) Write(p []byte) (int, error) {
	n, err := f.w.Write(p)
	if err == nil {
		err = f.c.Flush()
	}
	return n, err
}
