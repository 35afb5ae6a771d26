package http2

import (
	"bytes"
	"encoding/binary"
	"net/http"
	"runtime"
	"slices"
	"strings"
	"sync"
	"time"

	"golang.org/x/net/http2/hpack"

	frame "golang.org/x/net/http2"

	"triplane.dev/generic/storage/wire"
	"triplane.dev/internal/worker"
)

const (
	// initialWindow is the flow-control window of connections and streams before any settings.
	initialWindow = 65535
	// maxWindow is the largest flow-control window.
	maxWindow = 1<<31 - 1
	// frameSize is the payload of the frames that are sent: what every client accepts, and fills a TLS record.
	frameSize = wire.DataFrame
	// enough is how many bytes of a connection wait to be written before streams wait.
	enough = 2 * frameSize
	// flood is how many bytes may wait, in all, if a client sends what must be answered and does not read.
	flood = enough + 256<<10
	// blocked is how long a write takes at least whose client does not read.
	blocked = 10 * time.Millisecond
	// keepBuffer is the capacity above which a buffer is not used again.
	keepBuffer = 64 << 10
	// maxNames bounds the names of header fields that a connection remembers.
	maxNames = 128
)

// output has the frames that wait to be written to the client, and the turns of the streams that wait to add theirs.
type output struct {
	pending *[]byte // from buffers; nil if nothing waits
	writing bool    // a goroutine writes to the client
	due     bool    // a goroutine is going to flush

	window  int32     // the client's, of all streams
	initial int32     // the client's, of new streams
	turns   []*stream // that wait for room, or for the window
	granted *stream   // that may add a frame

	fields
}

// fields encodes header fields.
type fields struct {
	encoder *hpack.Encoder
	block   bytes.Buffer      // what encoder writes
	names   map[string]string // in lower case
	second  int64             // of date
	date    string
}

// buffers are used by connections while frames wait.
var buffers = sync.Pool{New: func() any { return new([]byte) }}

func (o *output) init() {
	o.window, o.initial = initialWindow, initialWindow
	o.encoder = hpack.NewEncoder(&o.block)
	o.names = map[string]string{}
}

// room reports whether streams may add frames.
func (o *output) room() bool { return o.pending == nil || len(*o.pending) < enough }

// begin adds the header of a frame (RFC 9113, section 4.1).
func (o *output) begin(kind frame.FrameType, flags frame.Flags, id uint32, length int) {
	if o.pending == nil {
		o.pending = buffers.Get().(*[]byte)
	}
	b := append(*o.pending, byte(length>>16), byte(length>>8), byte(length), byte(kind), byte(flags))
	*o.pending = binary.BigEndian.AppendUint32(b, id)
}

func (o *output) uint32(v uint32) { *o.pending = binary.BigEndian.AppendUint32(*o.pending, v) }

func (o *output) bytes(p []byte) { *o.pending = append(*o.pending, p...) }

func (o *output) settings(all []frame.Setting) {
	o.begin(frame.FrameSettings, 0, 0, 6*len(all))
	for _, s := range all {
		*o.pending = binary.BigEndian.AppendUint16(*o.pending, uint16(s.ID))
		o.uint32(s.Val)
	}
}

func (o *output) settingsAck() { o.begin(frame.FrameSettings, frame.FlagSettingsAck, 0, 0) }

func (o *output) ping(data [8]byte) { o.pingWith(0, data) }

func (o *output) pingAck(data [8]byte) { o.pingWith(frame.FlagPingAck, data) }

func (o *output) pingWith(flags frame.Flags, data [8]byte) {
	o.begin(frame.FramePing, flags, 0, len(data))
	o.bytes(data[:])
}

func (o *output) windowUpdate(id, bytes uint32) {
	o.begin(frame.FrameWindowUpdate, 0, id, 4)
	o.uint32(bytes)
}

func (o *output) resetStream(id uint32, code frame.ErrCode) {
	o.begin(frame.FrameRSTStream, 0, id, 4)
	o.uint32(uint32(code))
}

func (o *output) goAway(lastID uint32, code frame.ErrCode) {
	o.begin(frame.FrameGoAway, 0, 0, 8)
	o.uint32(lastID)
	o.uint32(uint32(code))
}

func (o *output) data(id uint32, p []byte, end bool) {
	var flags frame.Flags
	if end {
		flags = frame.FlagDataEndStream
	}
	o.begin(frame.FrameData, flags, id, len(p))
	o.bytes(p)
}

// headers adds a header block.
func (o *output) headers(id uint32, all []hpack.HeaderField, end bool) {
	o.block.Reset()
	for _, f := range all {
		_ = o.encoder.WriteField(f) // writes to memory
	}
	block := o.block.Bytes()
	var flags frame.Flags
	if end {
		flags = frame.FlagHeadersEndStream
	}
	for kind := frame.FrameHeaders; ; kind, flags = frame.FrameContinuation, 0 {
		part := block[:min(len(block), frameSize)]
		if block = block[len(part):]; len(block) == 0 {
			flags |= frame.FlagHeadersEndHeaders
		}
		o.begin(kind, flags, id, len(part))
		o.bytes(part)
		if len(block) == 0 {
			return
		}
	}
}

// lower changes the names of fields to those that are sent.
func (f *fields) lower(all []hpack.HeaderField) {
	for i := range all {
		name := all[i].Name
		known, ok := f.names[name]
		if !ok {
			known = strings.ToLower(name)
			if len(f.names) < maxNames {
				f.names[strings.Clone(name)] = strings.Clone(known)
			}
		}
		all[i].Name = known
	}
}

// now returns the value of the field date.
func (f *fields) now() string {
	now := time.Now()
	if second := now.Unix(); second != f.second {
		f.second, f.date = second, now.UTC().Format(http.TimeFormat)
	}
	return f.date
}

// flush writes what is pending, unless another goroutine writes, which then writes it. The caller holds the mutex,
// which is released during the write.
func (c *Connection) flush() {
	o := &c.out
	for round := 0; o.pending != nil && !o.writing && !c.closed; round++ {
		if round == 2 { // the caller has its own request
			c.flushSoon()
			return
		}
		batch := o.pending
		o.pending, o.writing = nil, true
		c.stall.writes()
		c.grant()
		c.mu.Unlock()
		_, err := c.conn.Write(*batch)
		if cap(*batch) <= keepBuffer {
			*batch = (*batch)[:0]
			buffers.Put(batch)
		}
		c.mu.Lock()
		o.writing = false
		if err != nil {
			c.close()
			return
		}
		c.grant()
	}
}

// flushSoon flushes after the runnable goroutines have run: an event that reaches many watches of a connection is
// written once. A goroutine that writes flushes anyway.
func (c *Connection) flushSoon() {
	if !c.out.due && !c.out.writing && !c.closed {
		c.out.due = true
		worker.Go(c.flushLater)
	}
}

func (c *Connection) flushLater() {
	runtime.Gosched()
	c.mu.Lock()
	defer c.mu.Unlock()
	c.out.due = false
	c.flush()
}

// grant gives the next stream that waits its turn, if there is room.
func (c *Connection) grant() {
	o := &c.out
	for i := 0; o.granted == nil && i < len(o.turns) && o.room(); {
		s := o.turns[i]
		if s.waits && s.sends && o.window <= 0 {
			i++
			continue
		}
		o.turns = slices.Delete(o.turns, i, i+1)
		if s.waits {
			s.waits = false
			o.granted = s
			s.changed.Broadcast()
		}
	}
}

// wakeAll wakes the streams that wait for their turns.
func (o *output) wakeAll() {
	for _, s := range o.turns {
		s.changed.Broadcast()
	}
	o.turns = nil
}

// free reports whether a stream may add a frame that does not wait; data says that it needs the window.
func (o *output) free(data bool) bool {
	return o.granted == nil && len(o.turns) == 0 && o.room() && (!data || o.window > 0)
}

// turn waits until a stream may add a frame, and returns how many of the wanted bytes fit into it. Without wanted bytes
// the frame is not subject to flow control. The caller holds the mutex.
func (c *Connection) turn(s *stream, want int) (int, error) {
	o := &c.out
	data := want > 0
	for {
		if err := s.writable(); err != nil {
			s.pass()
			return 0, err
		}
		closed := data && s.window <= 0
		switch {
		case !closed && (o.granted == s || o.free(data)):
			return max(0, min(want, frameSize, int(s.window), int(o.window))), nil
		case closed:
			s.pass()
			if o.pending != nil && !o.writing {
				s.flush()
				continue
			}
			s.await(s.writeBy, true)
		default:
			if s.sends = data; !s.waits {
				s.waits = true
				o.turns = append(o.turns, s)
			}
			c.grant()
			if o.granted == s {
				continue
			}
			if o.pending != nil && !o.writing {
				s.flush()
				continue
			}
			s.await(s.writeBy, data && o.window <= 0)
		}
	}
}

// flush flushes in the goroutine of the stream.
func (s *stream) flush() {
	s.flushing = true
	s.c.flush()
	s.flushing = false
}

// pass ends the turn of a stream, or the wait for it.
func (s *stream) pass() {
	o := &s.c.out
	if s.waits {
		s.waits = false
		o.turns = slices.DeleteFunc(o.turns, func(other *stream) bool { return other == s })
	}
	if o.granted == s {
		o.granted = nil
		s.c.grant()
	}
}

// write adds data to the output. The caller holds the mutex, which is released while the stream waits.
func (s *stream) write(p []byte, end bool) error {
	defer func() {
		if s.stalls {
			s.stalls = false
			s.c.stall.done()
		}
	}()
	for {
		n, err := s.c.turn(s, len(p))
		if err != nil {
			return err
		}
		last := end && n == len(p)
		s.c.out.data(s.id, p[:n], last)
		s.window -= int32(n)
		s.c.out.window -= int32(n)
		s.c.stall.took(n)
		s.pass()
		if p = p[n:]; len(p) == 0 {
			return nil
		}
	}
}
