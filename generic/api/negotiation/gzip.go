package negotiation

import (
	"io"
	"net/http"
	"strconv"
	"strings"
	"sync"

	"github.com/klauspost/compress/gzip"
)

// GzipFrom is the size in bytes from which responses are compressed for clients that accept it; below, it costs more
// time than it saves.
const GzipFrom = 128 << 10

// compressors are large and keep nothing of what they wrote.
var compressors = sync.Pool{New: func() any {
	z, _ := gzip.NewWriterLevel(io.Discard, gzip.BestSpeed) // the level is valid
	return z
}}

// AcceptsGzip reports whether the answer to a request may be compressed.
func AcceptsGzip(r *http.Request) bool {
	for clause := range strings.SplitSeq(r.Header.Get("Accept-Encoding"), ",") {
		name, weight, _ := strings.Cut(clause, ";")
		if strings.EqualFold(strings.TrimSpace(name), "gzip") {
			_, q, weighted := strings.Cut(weight, "q=")
			v, err := strconv.ParseFloat(strings.TrimSpace(q), 64)
			return !weighted || err != nil || v > 0
		}
	}
	return false
}

// StartGzip sets the headers of a compressed response, and returns what compresses its body. EndGzip ends it.
func StartGzip(w http.ResponseWriter) *gzip.Writer {
	w.Header().Set("Content-Encoding", "gzip")
	w.Header().Add("Vary", "Accept-Encoding")
	return NewGzip(w)
}

// NewGzip returns a compressor that writes to w. EndGzip ends it.
func NewGzip(w io.Writer) *gzip.Writer {
	z := compressors.Get().(*gzip.Writer)
	z.Reset(w)
	return z
}

// EndGzip writes what the compressor still has, and gives the compressor back; it must not be used afterwards.
func EndGzip(z *gzip.Writer) error {
	err := z.Close()
	z.Reset(io.Discard) // it would hold on to its destination
	compressors.Put(z)
	return err
}
