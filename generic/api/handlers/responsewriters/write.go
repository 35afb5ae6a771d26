package responsewriters

import (
	"bytes"
	"encoding/json"
	"net/http"
	"strconv"

	"sigs.k8s.io/yaml"

	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

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
	if len(b) > negotiation.GzipFrom && negotiation.AcceptsGzip(r) {
		request.Keeps(r.Context(), len(b))
		z := negotiation.StartGzip(w)
		w.WriteHeader(code)
		// A client that closed the connection needs no response.
		_, _ = z.Write(b)
		_, _ = z.Write(end)
		_ = negotiation.EndGzip(z)
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

// toYAML converts the JSON of an object.
func toYAML(b []byte) ([]byte, error) { return yaml.JSONToYAML(b) }
