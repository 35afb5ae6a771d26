package http2

import (
	"fmt"
	"net/http"
	"slices"
	"strconv"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http/httpguts"
	"golang.org/x/net/http2/hpack"
)

// buffered is how many bytes of a response wait for its end, or for a flush: shorter responses have a Content-Length,
// and are one write.
const buffered = frameSize

// response is the http.ResponseWriter of a stream. Only the handler's goroutine may use it, apart from the deadlines.
type response struct {
	s        *stream
	header   http.Header
	status   int                  // 0 before WriteHeader
	fields   *[]hpack.HeaderField // of the header at WriteHeader; nil when they are sent
	small    *[]byte              // from buffers: what was written and waits; nil if there is nothing
	wrote    int64
	declared int64 // Content-Length; -1 without one
	sniff    bool  // the content type is to be detected
	dated    bool  // the handler has set the date
	leaves   bool  // the handler has set "Connection: close"
	trailers []string
}

// fieldLists are used by responses between WriteHeader and the frame of the header.
var fieldLists = sync.Pool{New: func() any { return new([]hpack.HeaderField) }}

// Header implements http.ResponseWriter.
func (w *response) Header() http.Header {
	if w.header == nil {
		w.header = http.Header{}
	}
	return w.header
}

// WriteHeader implements http.ResponseWriter.
func (w *response) WriteHeader(status int) {
	if status < 100 || status > 999 {
		panic(fmt.Sprintf("invalid status code %d", status)) // as net/http
	}
	if w.status != 0 {
		return
	}
	if status < 200 {
		c := w.s.c
		c.mu.Lock()
		defer c.mu.Unlock()
		w.informs(status, w.header)
		return
	}
	w.status, w.declared = status, -1
	w.snapshot()
}

// snapshot copies the header, which the handler may change from now on.
func (w *response) snapshot() {
	w.fields = fieldLists.Get().(*[]hpack.HeaderField)
	fields := append((*w.fields)[:0], hpack.HeaderField{Name: ":status", Value: statusText(w.status)})
	_, encoded := w.header["Content-Encoding"]
	_, typed := w.header["Content-Type"]
	_, w.dated = w.header["Date"]
	w.sniff = !encoded && !typed
	for name, values := range w.header {
		switch name {
		case "Connection":
			w.leaves = len(values) > 0 && strings.EqualFold(values[0], "close")
		case "Content-Length":
			n, err := strconv.ParseInt(strings.Join(values, ","), 10, 64)
			if err != nil || n < 0 {
				continue
			}
			w.declared = n
		case "Trailer":
			w.declareTrailers(values)
		}
		fields = appendFields(fields, name, values)
	}
	*w.fields = fields
}

// appendFields appends the values of a field that HTTP/2 permits, without those that are invalid.
func appendFields(fields []hpack.HeaderField, name string, values []string) []hpack.HeaderField {
	switch name {
	case "Connection", "Keep-Alive", "Proxy-Connection", "Transfer-Encoding", "Upgrade":
		return fields
	}
	if strings.HasPrefix(name, http.TrailerPrefix) || !httpguts.ValidHeaderFieldName(name) {
		return fields
	}
	for _, v := range values {
		if httpguts.ValidHeaderFieldValue(v) {
			// Values that differ in each response would displace others from the client's table.
			fields = append(fields, hpack.HeaderField{Name: name, Value: v,
				Sensitive: name == "Audit-Id" || name == "Content-Length"})
		}
	}
	return fields
}

func (w *response) declareTrailers(values []string) {
	for _, v := range values {
		for name := range strings.SplitSeq(v, ",") {
			name = http.CanonicalHeaderKey(strings.TrimSpace(name))
			if httpguts.ValidTrailerHeader(name) && !slices.Contains(w.trailers, name) {
				w.trailers = append(w.trailers, name)
			}
		}
	}
}

// statusText returns a status as text.
func statusText(status int) string {
	if status == http.StatusOK {
		return "200"
	}
	return strconv.Itoa(status)
}

// informs sends an informational response (RFC 9110, section 15.2). The caller holds the mutex.
func (w *response) informs(status int, header http.Header) {
	s := w.s
	if s.begun || s.err != nil || s.c.closed {
		return
	}
	fields := []hpack.HeaderField{{Name: ":status", Value: statusText(status)}}
	for name, values := range header {
		if name != "Content-Length" {
			fields = appendFields(fields, name, values)
		}
	}
	s.c.out.lower(fields)
	s.c.out.headers(s.id, fields, false)
	s.c.flushSoon()
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if !hasBody(w.status) {
		return 0, http.ErrBodyNotAllowed
	}
	if w.declared >= 0 && w.wrote+int64(len(p)) > w.declared {
		return 0, http.ErrContentLength
	}
	w.wrote += int64(len(p))
	if w.waiting()+len(p) < buffered {
		w.keep(p)
		return len(p), nil
	}
	if w.s.request.Method == http.MethodHead {
		w.free()
		return len(p), nil
	}
	return len(p), w.sendThrough(p)
}

// WriteString implements io.StringWriter.
func (w *response) WriteString(p string) (int, error) { return w.Write([]byte(p)) }

// hasBody reports whether a response has a body (RFC 9110, section 6.4.1).
func hasBody(status int) bool {
	return status >= 200 && status != http.StatusNoContent && status != http.StatusNotModified
}

func (w *response) waiting() int {
	if w.small == nil {
		return 0
	}
	return len(*w.small)
}

// keep buffers p.
func (w *response) keep(p []byte) {
	if len(p) == 0 {
		return
	}
	if w.small == nil {
		w.small = buffers.Get().(*[]byte)
	}
	*w.small = append(*w.small, p...)
}

// free returns the buffer.
func (w *response) free() {
	if w.small != nil {
		*w.small = (*w.small)[:0]
		buffers.Put(w.small)
		w.small = nil
	}
}

// sendThrough sends what was buffered, and p.
func (w *response) sendThrough(p []byte) error {
	s := w.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if w.small != nil {
		err := w.send(*w.small, false)
		w.free()
		if err != nil {
			return err
		}
	}
	if err := w.send(p, false); err != nil {
		return err
	}
	if s.c.out.room() {
		s.c.flushSoon()
	} else {
		s.flush()
	}
	return nil
}

// Flush implements http.Flusher.
func (w *response) Flush() { _ = w.FlushError() }

// FlushError is used by http.ResponseController.
func (w *response) FlushError() error {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	if w.s.request.Method == http.MethodHead {
		w.free()
	}
	return w.sendThrough(nil)
}

// send adds p to the output, after the header if it was not sent yet. The caller holds the mutex.
func (w *response) send(p []byte, end bool) error {
	s := w.s
	if err := s.writable(); err != nil {
		return err
	}
	if s.sent {
		return errReturned
	}
	if w.fields != nil {
		_, err := s.c.turn(s, 0)
		if err != nil {
			return err
		}
		ends := end && len(p) == 0 && w.trailers == nil
		s.c.out.headers(s.id, w.complete(p, end), ends)
		s.begun = true
		s.pass()
		fieldLists.Put(w.fields)
		w.fields = nil
		if w.leaves {
			s.c.goAway()
		}
		if ends {
			return nil
		}
	}
	if len(p) == 0 && !end {
		return nil
	}
	return s.write(p, end && w.trailers == nil)
}

// complete returns the fields of the header, with those that the server adds.
func (w *response) complete(p []byte, end bool) []hpack.HeaderField {
	fields := *w.fields
	head := w.s.request.Method == http.MethodHead
	if end && w.declared < 0 && hasBody(w.status) && (int(w.wrote) > 0 || !head) && w.trailers == nil {
		fields = append(fields, hpack.HeaderField{Name: "content-length", Value: strconv.FormatInt(w.wrote, 10),
			Sensitive: true})
	}
	if len(p) == 0 && w.small != nil { // HEAD
		p = *w.small
	}
	if w.sniff && hasBody(w.status) && len(p) > 0 {
		fields = append(fields, hpack.HeaderField{Name: "content-type", Value: http.DetectContentType(p)})
	}
	if !w.dated {
		fields = append(fields, hpack.HeaderField{Name: "date", Value: w.s.c.out.now()})
	}
	w.s.c.out.lower(fields)
	*w.fields = fields
	return fields
}

// finish sends the rest of the response when the handler has returned.
func (w *response) finish() {
	if w.status == 0 {
		w.WriteHeader(http.StatusOK)
	}
	s := w.s
	w.promoteTrailers()
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	var rest []byte
	if w.small != nil && s.request.Method != http.MethodHead {
		rest = *w.small
	}
	err := w.send(rest, true)
	w.free()
	if err != nil {
		return
	}
	if w.trailers != nil {
		s.c.out.headers(s.id, w.trailerFields(), true)
	}
	s.sent = true
	if s.body.ended {
		s.leave()
	}
	s.flush()
}

// promoteTrailers adds the trailers that the handler has not declared (http.TrailerPrefix).
func (w *response) promoteTrailers() {
	for name := range w.header {
		if undeclared, ok := strings.CutPrefix(name, http.TrailerPrefix); ok {
			name = http.CanonicalHeaderKey(undeclared)
			w.header[name] = w.header[http.TrailerPrefix+undeclared]
			w.declareTrailers([]string{name})
		}
	}
}

func (w *response) trailerFields() []hpack.HeaderField {
	var fields []hpack.HeaderField
	for _, name := range w.trailers {
		fields = appendFields(fields, name, w.header[name])
	}
	w.s.c.out.lower(fields)
	return fields
}

// SetReadDeadline is used by http.ResponseController.
func (w *response) SetReadDeadline(t time.Time) error {
	s := w.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.readBy = t
	s.changed.Broadcast()
	return nil
}

// SetWriteDeadline is used by http.ResponseController. If t has passed, and the goroutine of the response waits for the
// socket, the connection is closed: its client does not read.
func (w *response) SetWriteDeadline(t time.Time) error {
	s := w.s
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	s.writeBy = t
	s.changed.Broadcast()
	if s.flushing && !t.IsZero() && !time.Now().Before(t) {
		time.AfterFunc(blocked, s.abortWrite)
	}
	return nil
}

// abortWrite closes the connection if the goroutine of a stream still waits for the socket.
func (s *stream) abortWrite() {
	s.c.mu.Lock()
	defer s.c.mu.Unlock()
	if c := s.c; s.flushing && c.out.writing && time.Since(c.stall.began) >= blocked && !c.closed {
		c.abort()
	}
}

// EnableFullDuplex is used by http.ResponseController. Responses of HTTP/2 never wait for the body of the request.
func (w *response) EnableFullDuplex() error { return nil }
