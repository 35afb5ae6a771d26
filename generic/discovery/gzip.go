package discovery

import (
	"compress/gzip"
	"net/http"
	"strings"
)

// compressFrom is the size in bytes from which answers are compressed for
// clients that take it.
const compressFrom = 128 * 1024

func acceptsGzip(r *http.Request) bool {
	for clause := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, _, _ := strings.Cut(clause, ";")
		if name = strings.TrimSpace(name); name == "gzip" {
			return true
		}
	}
	return false
}

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
