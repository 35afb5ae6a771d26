package discovery

import (
	"compress/gzip"
	"net/http"
)

// compressFrom is the size in bytes from which answers are compressed for
// clients that take it.
const compressFrom = 128 * 1024

func writeGzip(w http.ResponseWriter, body []byte) {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	z, err := gzip.NewWriterLevel(w, gzip.BestSpeed)
	if err != nil {
		return // the level is a constant that exists
	}
	// A client that has gone is the only error.
	_, _ = z.Write(body)
	_ = z.Close()
}
