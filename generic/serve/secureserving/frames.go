package secureserving

import (
	"strings"

	"golang.org/x/net/http2"

	"triplane.dev/generic/storage/wire"
)

// frameScheduler selects which stream of a connection writes next: round-robin, one frame each. Unlike the
// library's scheduler it visits only streams with pending frames, so idle watches of a connection cost nothing. It
// is not safe for concurrent use: only its connection's goroutine uses it.
type frameScheduler struct {
	control frameQueue // frames of no stream; they have precedence
	streams map[uint32]*streamFrames
	ready   []*streamFrames // a ring
	first   int
	count   int
	stalled *stalledConnection
}

// streamFrames are the pending frames of a stream.
type streamFrames struct {
	frameQueue
	queued bool // in the ring
	closed bool
}

// frameQueue is a queue that reuses its memory.
type frameQueue struct {
	frames []http2.FrameWriteRequest
	first  int
}

func (q *frameQueue) empty() bool { return q.first == len(q.frames) }

func (q *frameQueue) push(f http2.FrameWriteRequest) { q.frames = append(q.frames, f) }

func (q *frameQueue) peek() *http2.FrameWriteRequest { return &q.frames[q.first] }

func (q *frameQueue) shift() http2.FrameWriteRequest {
	f := q.frames[q.first]
	q.frames[q.first] = http2.FrameWriteRequest{}
	if q.first++; q.empty() {
		q.frames, q.first = q.frames[:0], 0
	}
	return f
}

func newFrameScheduler(stalled *stalledConnection) http2.WriteScheduler {
	return &frameScheduler{streams: map[uint32]*streamFrames{}, stalled: stalled}
}

// OpenStream implements http2.WriteScheduler.
func (s *frameScheduler) OpenStream(id uint32, _ http2.OpenStreamOptions) {
	s.streams[id] = &streamFrames{}
}

// CloseStream implements http2.WriteScheduler. It drops pending frames, except for a reset, which informs the
// client.
func (s *frameScheduler) CloseStream(id uint32) {
	f := s.streams[id]
	if f == nil {
		return
	}
	for !f.empty() {
		if frame := f.shift(); frame.DataSize() == 0 && isReset(&frame) {
			s.control.push(frame)
		}
	}
	f.closed = true
	delete(s.streams, id)
	if s.stalled.waiting && !s.pending() {
		s.stalled.idle()
	}
}

// pending reports whether a stream has frames to write.
func (s *frameScheduler) pending() bool {
	for i := range s.count {
		if f := s.ready[(s.first+i)%len(s.ready)]; !f.closed && !f.empty() {
			return true
		}
	}
	return false
}

// isReset reports whether a frame resets its stream; the type is visible only in its text.
func isReset(f *http2.FrameWriteRequest) bool {
	return strings.Contains(f.String(), "writer=http2.StreamError")
}

// AdjustStream implements http2.WriteScheduler. It ignores priorities.
func (s *frameScheduler) AdjustStream(uint32, http2.PriorityParam) {}

// Push implements http2.WriteScheduler.
func (s *frameScheduler) Push(f http2.FrameWriteRequest) {
	stream := s.streams[f.StreamID()]
	// A reset must not wait for data that exceeds the client's window. Handlers wait for their data, so few other
	// frames follow data.
	if stream == nil || (f.DataSize() == 0 && !stream.empty() && isReset(&f)) {
		s.control.push(f)
		return
	}
	stream.push(f)
	if !stream.queued {
		s.enqueue(stream)
	}
}

// Pop implements http2.WriteScheduler. Streams whose client's window is full keep their position.
func (s *frameScheduler) Pop() (http2.FrameWriteRequest, bool) {
	if !s.control.empty() {
		return s.control.shift(), true
	}
	for range s.count {
		stream := s.dequeue()
		if stream.closed || stream.empty() {
			continue
		}
		now, rest, n := stream.peek().Consume(wire.DataFrame)
		switch n {
		case 0:
			s.enqueue(stream)
			continue
		case 1:
			stream.shift()
		default:
			*stream.peek() = rest
		}
		if !stream.empty() {
			s.enqueue(stream)
		}
		s.stalled.took(now.DataSize())
		return now, true
	}
	if s.count > 0 {
		s.stalled.wait()
	} else {
		s.stalled.idle()
	}
	return http2.FrameWriteRequest{}, false
}

func (s *frameScheduler) enqueue(f *streamFrames) {
	if s.count == len(s.ready) {
		grown := make([]*streamFrames, max(8, 2*s.count))
		for i := range s.count {
			grown[i] = s.ready[(s.first+i)%len(s.ready)]
		}
		s.ready, s.first = grown, 0
	}
	s.ready[(s.first+s.count)%len(s.ready)] = f
	s.count++
	f.queued = true
}

func (s *frameScheduler) dequeue() *streamFrames {
	f := s.ready[s.first]
	s.ready[s.first] = nil
	s.first = (s.first + 1) % len(s.ready)
	s.count--
	f.queued = false
	return f
}
