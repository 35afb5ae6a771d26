package http2

import (
	"bufio"
	"encoding/binary"
	"net/http"
	"strings"
	"testing"

	frame "golang.org/x/net/http2"
)

const benchBody = 600

// counter reads frames and drops their payloads.
type counter struct {
	*rawClient
	in   *bufio.Reader
	read int // bytes of data that are not announced
}

func dialCounter(b *testing.B, s *site) *counter {
	c := dial(b, s, frame.Setting{ID: frame.SettingInitialWindowSize, Val: 1<<31 - 1})
	c.must(c.WriteWindowUpdate(0, 1<<30))
	c.sync()
	return &counter{rawClient: c, in: bufio.NewReaderSize(c.conn, 64<<10)}
}

// next reads a frame, and returns its type and flags.
func (c *counter) next() (frame.FrameType, frame.Flags) {
	head, err := c.in.Peek(9)
	c.must(err)
	size, kind, flags := int(head[0])<<16|int(head[1])<<8|int(head[2]), frame.FrameType(head[3]), frame.Flags(head[4])
	_, err = c.in.Discard(9 + size)
	c.must(err)
	if kind == frame.FrameData {
		if c.read += size; c.read > 1<<28 {
			c.must(c.WriteWindowUpdate(0, uint32(c.read)))
			c.read = 0
		}
	}
	return kind, flags
}

// BenchmarkGet serves short responses over a connection, one after the other, and several at a time.
func BenchmarkGet(b *testing.B) {
	body := []byte(strings.Repeat("x", benchBody))
	for name, concurrent := range map[string]int{"1": 1, "8": 8} {
		b.Run(name, func(b *testing.B) {
			c := dialCounter(b, serve(b, func(w http.ResponseWriter, _ *http.Request) { _, _ = w.Write(body) }))
			c.encoder.SetMaxDynamicTableSize(0) // the same block for all requests
			first := c.get("/api/v1/namespaces/default/pods/a", "accept=application/json", "user-agent=bench")
			block := c.encode(to("GET", "/api/v1/namespaces/default/pods/a", "accept=application/json", "user-agent=bench")...)
			var request strings.Builder
			_ = frame.NewFramer(&request, nil).WriteHeaders(frame.HeadersFrameParam{
				StreamID: first, BlockFragment: block, EndStream: true, EndHeaders: true})
			raw, id := []byte(request.String()), first
			send := func(n int) {
				for range n {
					id += 2
					binary.BigEndian.PutUint32(raw[5:], id)
					_, err := c.conn.Write(raw)
					c.must(err)
				}
			}
			end := func() {
				for {
					if kind, flags := c.next(); kind == frame.FrameData && flags.Has(frame.FlagDataEndStream) {
						return
					}
				}
			}
			end()
			b.ReportAllocs()
			b.ResetTimer()
			send(min(concurrent, b.N))
			for n := range b.N {
				end()
				if n+concurrent < b.N {
					send(1)
				}
			}
		})
	}
}

// BenchmarkEvent wakes a detached response, which writes and flushes an event.
func BenchmarkEvent(b *testing.B) {
	body := []byte(strings.Repeat("x", benchBody))
	s, all := serveDetached(b, func(d *detached, w http.ResponseWriter, r *http.Request) bool {
		if d.runs.Load() > 1 {
			_, _ = w.Write(body)
			w.(http.Flusher).Flush()
		}
		return r.Context().Err() != nil
	})
	c := dialCounter(b, s)
	c.get("/")
	d := within(b, all, "the handler")
	eventually(b, "the first call", func() bool { return d.runs.Load() == 1 })
	if kind, _ := c.next(); kind != frame.FrameHeaders {
		b.Fatal(kind)
	}
	b.ReportAllocs()
	b.ResetTimer()
	for n := range b.N {
		d.wake()
		if kind, _ := c.next(); kind != frame.FrameData {
			b.Fatal(kind)
		}
		if n%(1<<20) == 1<<20-1 {
			c.must(c.WriteWindowUpdate(1, benchBody<<20))
		}
	}
}
