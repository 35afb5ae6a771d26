package filters

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"triplane/generic/base/metrics"
	"triplane/generic/base/user"
)

const (
	// stalledAfter is how long a write, or the read of a body, may take before the request counts as one that
	// waits for its client.
	stalledAfter = 10 * time.Millisecond
	// StalledLimit is how long a client with something to read may take nothing of it: no piece of a response
	// over HTTP/1.1, no wire.DataFrame bytes of all responses over an HTTP/2 connection.
	StalledLimit = 10 * time.Second

	// stalledPerUser and stalledTogether bound the bytes that stalled requests keep.
	stalledPerUser  = 64 << 20
	stalledTogether = 256 << 20
	// stalledLeast is what any of them keeps: goroutine, stream, request. stalledGzip is a compressor.
	stalledLeast = 32 << 10
	stalledGzip  = 1 << 20

	// unbuffered is how many bytes of a response net/http keeps before it waits for the connection.
	unbuffered = 2 << 10
)

// stalls are the requests that wait for their clients, in the order in which they stalled: to take a response, or
// to send a body. Such a request has given its seats back, so that all it occupies is memory, and that is
// bounded: over the bound the one that waits longest is ended. All methods are safe for concurrent use.
type stalls struct {
	pool    sync.Pool // of *stall
	metrics *metrics.Stalls
	// perUser and together are the bounds, limit that of time.
	perUser, together int64
	limit             time.Duration

	mu    sync.Mutex
	bytes int64
	users map[string]*stalledUser
}

// stalledUser is the stalled requests of one user.
type stalledUser struct {
	name  string
	bytes int64
	all   list.List // of *stall, the oldest first
}

// stall is a write of a response, or a read of a body, for as long as it lasts.
type stall struct {
	owner *stalls
	timer *time.Timer

	mu    sync.Mutex // locked before owner.mu
	e     *exchange  // nil once the write or read has returned
	reads bool
	bytes int64
	late  bool // the timer has fired once

	// Below guarded by owner.mu.
	user  *stalledUser // nil unless counted
	place *list.Element
	ended bool // was chosen to be ended
}

func newStalls(m *metrics.Registry, limit time.Duration) *stalls {
	if m == nil {
		m = metrics.New() // nobody sees it
	}
	s := &stalls{
		metrics: m.Stalls, perUser: stalledPerUser, together: stalledTogether, limit: limit,
		users: map[string]*stalledUser{},
	}
	s.pool.New = func() any {
		x := &stall{owner: s}
		x.timer = time.AfterFunc(time.Hour, x.fired)
		x.timer.Stop()
		return x
	}
	return s
}

// begin is called before a write, or a read, that may wait for the client, while the request keeps so many bytes.
func (s *stalls) begin(e *exchange, bytes int64, reads bool) *stall {
	x := s.pool.Get().(*stall)
	x.mu.Lock()
	x.e, x.bytes, x.reads, x.late = e, bytes, reads, false
	x.mu.Unlock()
	x.timer.Reset(stalledAfter)
	return x
}

// end is called when the write or read has returned.
func (x *stall) end() {
	idle := x.timer.Stop()
	late := x.detach()
	if late && x.owner.remove(x) {
		return // somebody else still has it, to end it
	}
	if idle {
		x.owner.pool.Put(x)
	}
}

// detach has nothing more happen to the request, and reports whether the timer has fired.
func (x *stall) detach() (late bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.e = nil
	return x.late
}

// fired is called when the write or read has taken stalledAfter, and a write once more after the limit.
func (x *stall) fired() {
	x.mu.Lock()
	e := x.e
	if e == nil {
		x.mu.Unlock()
		return
	}
	if x.late {
		// HTTP/2 has the same limit for the connection as a whole, in the server.
		if e.client.ProtoMajor == 1 {
			x.owner.metrics.Ended("time")
			e.cut(false)
		}
		x.mu.Unlock()
		return
	}
	x.late = true
	if x.reads && e.ticket != nil {
		e.ticket.Forgo()
	}
	e.release()
	var over []*stall
	if e.mayNotStall() {
		over = x.owner.add(x, e.whoWaits())
		if !x.reads { // bodies have the request's deadline
			x.timer.Reset(x.owner.limit)
		}
	}
	x.mu.Unlock()
	for _, o := range over {
		o.cut()
	}
}

// add counts a request, and returns those that have to end for it.
func (s *stalls) add(x *stall, who string) (over []*stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[who]
	if u == nil {
		u = &stalledUser{name: who}
		s.users[who] = u
	}
	x.user, x.place = u, u.all.PushBack(x)
	s.count(u, x.bytes, 1)
	for u.bytes > s.perUser {
		over = append(over, s.choose(u))
		s.metrics.Ended("user")
	}
	for s.bytes > s.together {
		heaviest := u
		for _, o := range s.users {
			if o.bytes > heaviest.bytes {
				heaviest = o
			}
		}
		over = append(over, s.choose(heaviest))
		s.metrics.Ended("server")
	}
	return over
}

// choose takes the oldest of a user, to be ended. The caller holds the mutex.
func (s *stalls) choose(u *stalledUser) *stall {
	x := u.all.Front().Value.(*stall)
	x.ended = true
	s.drop(x)
	return x
}

// remove takes a request out that goes on, or was never counted, and reports whether it was chosen to be ended.
func (s *stalls) remove(x *stall) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.user != nil {
		s.drop(x)
	}
	return x.ended
}

// drop ends the account of a request. The caller holds the mutex.
func (s *stalls) drop(x *stall) {
	u := x.user
	u.all.Remove(x.place)
	x.user, x.place = nil, nil
	s.count(u, -x.bytes, -1)
	if u.all.Len() == 0 {
		delete(s.users, u.name)
	}
}

func (s *stalls) count(u *stalledUser, bytes int64, requests int) {
	u.bytes += bytes
	s.bytes += bytes
	s.metrics.Add(requests, bytes)
}

// cut ends the request, unless its write or read has returned meanwhile.
func (x *stall) cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	if x.e != nil {
		x.e.cut(x.reads)
	}
}

// cut has the write or read that goes on fail. It is called while there is one.
func (e *exchange) cut(reads bool) {
	past := time.Unix(1, 0)
	c := http.NewResponseController(e.ResponseWriter)
	if reads {
		_ = c.SetReadDeadline(past) // the client has gone, or not
	} else {
		_ = c.SetWriteDeadline(past)
	}
}

// mayNotStall is false for what people may look at slowly, as logs.
func (e *exchange) mayNotStall() bool { return !e.longRunning || e.isWatch() }

// whoWaits is the user, or the address of one that is not known.
func (e *exchange) whoWaits() string {
	if e.User != nil && e.User.Name != user.Anonymous {
		return "user " + e.User.Name
	}
	host, _, err := net.SplitHostPort(e.client.RemoteAddr)
	if err != nil {
		host = e.client.RemoteAddr
	}
	return "address " + host
}

// release gives back what lets the request execute: the rest of it waits for its client, or there is none.
// It may be called more than once, and by others than the request's goroutine.
func (e *exchange) release() {
	if !e.seated.CompareAndSwap(true, false) {
		return
	}
	if e.lane != nil {
		e.lane.leave()
	}
	if e.ticket != nil {
		e.ticket.Leave()
	}
}

// Connection is what requests can change about the connection that they came on.
type Connection interface {
	// Patient adds to the number of requests for whose sake the client may take nothing
	// for longer than StalledLimit.
	Patient(requests int)
}

type connectionKey struct{}

// WithConnection returns a context for the requests of a connection.
func WithConnection(ctx context.Context, c Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf is nil where the listener has nothing to say.
func connectionOf(ctx context.Context) Connection {
	c, _ := ctx.Value(connectionKey{}).(Connection)
	return c
}
