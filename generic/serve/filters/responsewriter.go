package filters

import (
	"bufio"
	"net"
	"net/http"
	"strings"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/storage/wire"
)

// responseWriter observes the response and adds the headers that are known only when the response starts.
type responseWriter struct {
	http.ResponseWriter
	exchange *exchange
	status   int
	bytes    int64
}

// WriteHeader implements http.ResponseWriter.
func (w *responseWriter) WriteHeader(status int) {
	if w.status == 0 && status >= 200 || status == http.StatusSwitchingProtocols {
		w.begin(status)
	}
	w.ResponseWriter.WriteHeader(status)
}

func (w *responseWriter) begin(status int) {
	w.status = status
	audit.RecordOf(&w.exchange.State).Responds(status)
	h := w.Header()
	if w.exchange.Proxied && w.exchange.sandbox {
		restrict(h, w.exchange.client)
	}
	if texts := w.exchange.Warnings.Texts(); texts != nil {
		addWarnings(h, texts)
	}
	if _, set := h["Cache-Control"]; !set {
		h["Cache-Control"] = cacheControl
	}
}

// cacheControl prevents shared caches from storing responses that depend on the user.
var cacheControl = []string{"no-cache, private"}

// Write implements http.ResponseWriter.
func (w *responseWriter) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.begin(http.StatusOK)
	}
	timer := request.Time(w.exchange, request.ResponseWrite)
	n, err := w.write(p)
	timer.Stop()
	w.bytes += int64(n)
	return n, err
}

// longWrite is the size in bytes of the pieces in which a long response is written. Other requests may run between
// the pieces.
const longWrite = 2 * wire.DataFrame

func (w *responseWriter) write(p []byte) (written int, err error) {
	if w.bytes+int64(len(p)) < unbuffered {
		return w.ResponseWriter.Write(p)
	}
	keeps := w.keeps(len(p))
	for len(p) > longWrite && err == nil {
		var n int
		n, err = w.piece(p[:longWrite], keeps)
		written += n
		p = p[n:]
	}
	if err != nil {
		return written, err
	}
	n, err := w.piece(p, keeps)
	return written + n, err
}

// piece writes p, which may have to wait for the client. Until then the request retains keeps bytes.
func (w *responseWriter) piece(p []byte, keeps int64) (int, error) {
	stall := w.exchange.stalls.begin(w.exchange, keeps, false, nil)
	n, err := w.ResponseWriter.Write(p)
	stall.end()
	if len(p) >= longWrite/4 {
		w.exchange.Timeslice.Yield(w.exchange)
	}
	return n, err
}

// keeps estimates the bytes of memory that a response retains while it writes so many bytes.
func (w *responseWriter) keeps(writes int) int64 {
	keeps := max(writes, int(w.exchange.Kept)) + stalledLeast
	h := w.Header()
	if len(h["Content-Encoding"]) > 0 && len(h["Content-Length"]) == 0 {
		keeps += stalledGzip // compressed while it is written
	}
	return int64(keeps)
}

// Unwrap gives http.ResponseController access to the connection's writer.
func (w *responseWriter) Unwrap() http.ResponseWriter { return w.ResponseWriter }

// shaped returns w as a writer that implements http.Flusher and http.Hijacker if the connection's writer does.
// Handlers test for these interfaces.
func (w *responseWriter) shaped() http.ResponseWriter {
	_, flushes := w.ResponseWriter.(http.Flusher)
	_, hijacks := w.ResponseWriter.(http.Hijacker)
	switch {
	case flushes && hijacks:
		return hijackFlushWriter{flushWriter{w}}
	case flushes:
		return flushWriter{w}
	}
	return w
}

type flushWriter struct{ *responseWriter }

// Flush implements http.Flusher.
func (w flushWriter) Flush() {
	if w.status == 0 {
		w.begin(http.StatusOK)
	}
	stall := w.exchange.stalls.begin(w.exchange, w.keeps(0), false, nil)
	defer stall.end()
	w.ResponseWriter.(http.Flusher).Flush()
}

type hijackFlushWriter struct{ flushWriter }

// Hijack implements http.Hijacker.
func (w hijackFlushWriter) Hijack() (net.Conn, *bufio.ReadWriter, error) {
	c, rw, err := w.ResponseWriter.(http.Hijacker).Hijack()
	if err == nil {
		w.exchange.hijacked = true
		if w.status == 0 {
			w.status = http.StatusSwitchingProtocols
			audit.RecordOf(&w.exchange.State).Responds(w.status)
		}
	}
	return c, rw, err
}

// maxWarnings bounds the total bytes of warnings in a response's headers. If they exceed it, each warning is
// truncated to maxWarningText, and those after the bound are omitted.
const (
	maxWarnings    = 4 * 1024
	maxWarningText = 256
)

func addWarnings(h http.Header, texts []string) {
	total := 0
	for _, t := range texts {
		total += len(t)
	}
	written := 0
	for _, t := range texts {
		if total > maxWarnings && len(t) > maxWarningText {
			t = strings.ToValidUTF8(t[:maxWarningText], "")
		}
		h.Add("Warning", "299 - "+quoteWarning(t))
		if written += len(t); written >= maxWarnings {
			return
		}
	}
}

// quoteWarning encodes a text as an RFC 7230 quoted string. It drops control characters, which would end the
// header.
func quoteWarning(text string) string {
	if !strings.ContainsFunc(text, func(r rune) bool { return r == '"' || r == '\\' || r < ' ' || r == 0x7f }) {
		return `"` + text + `"`
	}
	b := make([]byte, 0, len(text)+8)
	b = append(b, '"')
	for i := 0; i < len(text); i++ {
		switch c := text[i]; {
		case c == '"' || c == '\\':
			b = append(b, '\\', c)
		case c == '\n' || c == '\t':
			b = append(b, ' ')
		case c >= ' ' && c != 0x7f:
			b = append(b, c)
		}
	}
	return string(append(b, '"'))
}
