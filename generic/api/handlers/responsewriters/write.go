package responsewriters

import (
	"bytes"
	"compress/gzip"
	"encoding/json"
	"net/http"
	"strconv"
	"sync"

	"sigs.k8s.io/yaml"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

// gzipThreshold is the size in bytes from which responses are compressed for
// clients that accept it; below, it costs more time than it saves.
const gzipThreshold = 128 * 1024

// writers compress answers. gzip.Writers are large and keep no state between answers.
var writers = sync.Pool{New: func() any {
	w, _ := gzip.NewWriterLevel(nil, gzip.BestSpeed) // the level is valid
	return w
}}

var newline = []byte("\n")

// writeBody answers with one encoded object.
func writeBody(w http.ResponseWriter, r *http.Request, code int, o negotiation.Output, b []byte) {
	end := newline
	switch {
	case o.MediaType == wire.YAML:
		end = nil
		if len(b) == 0 || b[len(b)-1] != '\n' {
			end = newline
		}
	case o.MediaType != wire.JSON:
		end = nil
	case o.Pretty:
		var buf bytes.Buffer
		buf.Grow(len(b) + len(b)/2)
		if json.Indent(&buf, b, "", "  ") == nil {
			b, end = buf.Bytes(), nil
		}
	}
	header := w.Header()
	header.Set("Content-Type", negotiation.Name(o.MediaType))
	if len(b) > gzipThreshold && negotiation.AcceptsGzip(r) {
		request.Keeps(r.Context(), len(b))
		z := startGzip(w, code)
		defer stopGzip(z)
		// A client that closed the connection needs no response.
		_, _ = z.Write(b)
		_, _ = z.Write(end)
		return
	}
	header.Set("Content-Length", strconv.Itoa(len(b)+len(end)))
	w.WriteHeader(code)
	if r.Method == http.MethodHead {
		return
	}
	_, _ = w.Write(b)
	if len(end) > 0 {
		_, _ = w.Write(end)
	}
}

func startGzip(w http.ResponseWriter, code int) *gzip.Writer {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	w.WriteHeader(code)
	z := writers.Get().(*gzip.Writer)
	z.Reset(w)
	return z
}

func stopGzip(z *gzip.Writer) {
	_ = z.Close()
	writers.Put(z)
}

// toYAML converts the JSON of an object.
func toYAML(b []byte) ([]byte, error) { return yaml.JSONToYAML(b) }
