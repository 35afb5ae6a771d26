package http2

import (
	"errors"
	"fmt"
	"io"
	"net/http"
	"strconv"
	"time"

	"golang.org/x/net/http2/hpack"

	frame "golang.org/x/net/http2"
)

// input is what the goroutine of a connection uses to read.
type input struct {
	framer *frame.Framer
	block  headerBlock
	// The request whose header block is not complete.
	id        uint32
	ended     bool // no body follows
	selfBound bool // its priority depends on itself
}

// read reads frames until the connection fails, or violates the protocol. An error of the client is a
// frame.ConnectionError.
func (c *Connection) read() error {
	if !permits(c.template.TLS) {
		return frame.ConnectionError(frame.ErrCodeInadequateSecurity)
	}
	preface := make([]byte, len(frame.ClientPreface))
	if _, err := io.ReadFull(c.conn, preface); err != nil {
		return fmt.Errorf("reading the preface: %w", err)
	}
	if string(preface) != frame.ClientPreface {
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	for {
		var f frame.Frame
		header, err := c.in.framer.ReadFrameHeader()
		if err == nil {
			f, err = c.in.framer.ReadFrameForHeader(header)
		}
		var fault frame.StreamError
		switch {
		case errors.As(err, &fault) && header.Type == frame.FrameHeaders: // its block is not decoded
			err = frame.ConnectionError(fault.Code)
		case errors.As(err, &fault):
			err = c.rejects(fault)
		case errors.Is(err, frame.ErrFrameTooLarge):
			err = frame.ConnectionError(frame.ErrCodeFrameSize)
		case err == nil:
			err = c.process(f)
		}
		if err != nil {
			return err
		}
	}
}

// rejects resets the stream of a fault.
func (c *Connection) rejects(fault frame.StreamError) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.resetFor(fault.StreamID, fault.Code)
}

// resetFor resets a stream for an error of the client. The caller holds the mutex.
func (c *Connection) resetFor(id uint32, code frame.ErrCode) error {
	switch s := c.streams[id]; {
	case s != nil:
		s.reset(code, fmt.Errorf("http2: the client violates the protocol: %v", code))
	case c.unopened(id):
		return frame.ConnectionError(frame.ErrCodeProtocol)
	case id <= c.lastID:
		c.out.resetStream(id, code)
		c.flushSoon()
	}
	return nil
}

// unopened reports whether the client has not opened a stream. After GOAWAY it may open streams that are not processed.
func (c *Connection) unopened(id uint32) bool { return id > c.lastID && !c.leaving }

// process processes a frame.
func (c *Connection) process(f frame.Frame) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.closed {
		return errClosed
	}
	settings, isSettings := f.(*frame.SettingsFrame)
	if !c.ready && (!isSettings || settings.IsAck()) {
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	if o := &c.out; o.pending != nil && len(*o.pending) > flood {
		return frame.ConnectionError(frame.ErrCodeEnhanceYourCalm)
	}
	switch f := f.(type) {
	case *frame.HeadersFrame:
		return c.onHeaders(f)
	case *frame.ContinuationFrame:
		return c.onBlock(f.HeaderBlockFragment(), f.HeadersEnded())
	case *frame.DataFrame:
		return c.onData(f)
	case *frame.WindowUpdateFrame:
		return c.onWindowUpdate(f)
	case *frame.RSTStreamFrame:
		return c.onReset(f)
	case *frame.SettingsFrame:
		return c.onSettings(f)
	case *frame.PingFrame:
		if !f.IsAck() {
			c.out.pingAck(f.Data)
			c.flushSoon()
		} else if f.Data == lastPing {
			c.closeWritten()
		}
	case *frame.PriorityFrame:
		if f.StreamDep == f.StreamID {
			return c.onSelfBound(f.StreamID)
		}
	case *frame.GoAwayFrame:
		c.goAway()
		c.flushSoon()
	case *frame.PushPromiseFrame:
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	return nil // frames of other types are ignored
}

// onSelfBound rejects a stream that depends on itself (RFC 7540, section 5.3.1).
func (c *Connection) onSelfBound(id uint32) error {
	if c.unopened(id) {
		c.out.resetStream(id, frame.ErrCodeProtocol)
		c.flushSoon()
		return nil
	}
	return c.resetFor(id, frame.ErrCodeProtocol)
}

func (c *Connection) onSettings(f *frame.SettingsFrame) error {
	if f.IsAck() {
		return nil
	}
	if !c.ready {
		c.ready = true
		_ = c.conn.SetReadDeadline(time.Time{}) // fails only on closed connections
	}
	if f.NumSettings() > maxSettings {
		return frame.ConnectionError(frame.ErrCodeEnhanceYourCalm)
	}
	if err := f.ForeachSetting(c.onSetting); err != nil {
		return err
	}
	c.out.settingsAck()
	c.flushSoon()
	return nil
}

// maxSettings bounds the settings in a frame. Each may change the windows of all streams.
const maxSettings = 64

func (c *Connection) onSetting(s frame.Setting) error {
	if err := s.Valid(); err != nil {
		return err
	}
	switch s.ID {
	case frame.SettingHeaderTableSize:
		c.out.encoder.SetMaxDynamicTableSize(s.Val)
	case frame.SettingInitialWindowSize:
		change := int64(s.Val) - int64(c.out.initial)
		c.out.initial = int32(s.Val)
		for _, o := range c.streams {
			if int64(o.window)+change > maxWindow {
				return frame.ConnectionError(frame.ErrCodeFlowControl)
			}
			o.window += int32(change)
			o.changed.Broadcast()
		}
	}
	return nil
}

func (c *Connection) onWindowUpdate(f *frame.WindowUpdateFrame) error {
	if f.StreamID == 0 {
		if int64(c.out.window)+int64(f.Increment) > maxWindow {
			return frame.ConnectionError(frame.ErrCodeFlowControl)
		}
		c.out.window += int32(f.Increment)
		c.grant()
		return nil
	}
	s := c.streams[f.StreamID]
	switch {
	case s == nil && c.unopened(f.StreamID):
		return frame.ConnectionError(frame.ErrCodeProtocol)
	case s == nil: // it has ended
	case int64(s.window)+int64(f.Increment) > maxWindow:
		return c.resetFor(s.id, frame.ErrCodeFlowControl)
	default:
		closed := s.window <= 0
		s.window += int32(f.Increment)
		if closed {
			s.changed.Broadcast()
		}
	}
	return nil
}

func (c *Connection) onReset(f *frame.RSTStreamFrame) error {
	if c.unopened(f.StreamID) {
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	if s := c.streams[f.StreamID]; s != nil {
		s.fail(errReset)
	}
	return nil
}

func (c *Connection) onData(f *frame.DataFrame) error {
	id, size := f.StreamID, int32(f.Length)
	s := c.streams[id]
	if c.unopened(id) {
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	if !c.received.take(size) {
		return frame.ConnectionError(frame.ErrCodeFlowControl)
	}
	data := f.Data()
	switch {
	case s == nil && (c.reset.has(id) || id > c.lastID):
		c.returnWindow(int(size), nil)
		return nil
	case s == nil || s.body.ended:
		c.returnWindow(int(size), nil)
		return c.resetFor(id, frame.ErrCodeStreamClosed)
	case !s.body.credit.take(size):
		c.returnWindow(int(size), nil)
		return c.resetFor(id, frame.ErrCodeFlowControl)
	}
	if s.body.declared >= 0 {
		s.body.declared -= int64(len(data))
		if s.body.declared < 0 || f.StreamEnded() && s.body.declared > 0 {
			c.returnWindow(int(size), nil)
			return c.resetFor(id, frame.ErrCodeProtocol)
		}
	}
	if s.body.closed {
		c.returnWindow(int(size), nil)
	} else {
		s.body.add(data)
		c.returnWindow(int(size)-len(data), s) // padding
	}
	if f.StreamEnded() {
		s.onEnd()
	}
	s.changed.Broadcast()
	return nil
}

// onEnd records that the client has sent all of a request.
func (s *stream) onEnd() {
	s.body.finish()
	if s.sent {
		s.leave()
	}
}

func (c *Connection) onHeaders(f *frame.HeadersFrame) error {
	if f.StreamID%2 == 0 {
		return frame.ConnectionError(frame.ErrCodeProtocol)
	}
	in := &c.in
	in.id, in.ended = f.StreamID, f.StreamEnded()
	in.selfBound = f.HasPriority() && f.Priority.StreamDep == f.StreamID
	in.block.start()
	return c.onBlock(f.HeaderBlockFragment(), f.HeadersEnded())
}

// onBlock decodes a fragment of a header block, and processes the request or the trailers that it completes.
func (c *Connection) onBlock(fragment []byte, last bool) error {
	in := &c.in
	if err := in.block.write(fragment, last); err != nil || !last {
		return err
	}
	defer in.block.release()
	s := c.streams[in.id]
	switch {
	case s != nil:
		return c.onTrailers(s)
	case in.id > c.lastID:
		return c.onRequest()
	case c.reset.has(in.id):
		return nil
	}
	return frame.ConnectionError(frame.ErrCodeStreamClosed)
}

func (c *Connection) onTrailers(s *stream) error {
	h := &c.in.block
	switch {
	case s.body.ended:
		return c.resetFor(s.id, frame.ErrCodeStreamClosed)
	case !c.in.ended, h.malformed != nil, h.large(), h.has != [4]bool{}, s.body.declared > 0:
		return c.resetFor(s.id, frame.ErrCodeProtocol)
	}
	s.body.trailers = h.header()
	s.onEnd()
	s.changed.Broadcast()
	return nil
}

// tooLarge is the response to a request whose header exceeds the limit.
var tooLarge = []hpack.HeaderField{{Name: ":status", Value: strconv.Itoa(http.StatusRequestHeaderFieldsTooLarge)}}

func (c *Connection) onRequest() error {
	in := &c.in
	if c.leaving {
		return nil // its client was told which requests are not processed
	}
	c.lastID = in.id
	refuse := func(code frame.ErrCode) error {
		c.reset.add(in.id)
		return c.resetFor(in.id, code)
	}
	switch {
	case len(c.streams) >= c.server.MaxStreams:
		return refuse(frame.ErrCodeRefusedStream)
	case in.block.large():
		c.out.headers(in.id, tooLarge, true)
		return refuse(frame.ErrCodeNo)
	case in.selfBound, in.block.malformed != nil:
		return refuse(frame.ErrCodeProtocol)
	}
	s := c.newStream(in.id)
	r, err := c.newRequest(s, &in.block, in.ended)
	if err != nil {
		return refuse(frame.ErrCodeProtocol)
	}
	s.request, s.window = r, c.out.initial
	if in.ended {
		s.body.finish()
	}
	c.streams[s.id] = s
	return c.start(s)
}
