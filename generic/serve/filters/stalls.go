package filters

import (
	"container/list"
	"context"
	"net"
	"net/http"
	"sync"
	"time"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/serve/requestmetrics"
)

const (
	// stalledAfter is the duration of a write, or of a read of a body, after which the request counts as stalled:
	// it waits for its client.
	stalledAfter = 10 * time.Millisecond
	// StalledLimit is how long a client may read nothing while there is data for it: no piece of a response over
	// HTTP/1.1, no wire.DataFrame bytes of all responses over an HTTP/2 connection.
	StalledLimit = 10 * time.Second

	// stalledPerUser and stalledTogether bound the bytes that stalled requests retain.
	stalledPerUser  = 64 << 20
	stalledTogether = 256 << 20
	// stalledLeast is the least that a stalled request retains: goroutine, stream, request. stalledGzip is the
	// size of a compressor.
	stalledLeast = 32 << 10
	stalledGzip  = 1 << 20

	// unbuffered is how many bytes of a response net/http buffers before it waits for the connection.
	unbuffered = 2 << 10
)

// stalls tracks the requests that wait for their clients, to read a response or to send a body, or for another request
// (request.Lock), in the order in which they stalled. They have released their seats, so they occupy only memory, which
// is bounded: above the bound the request that has waited longest on the connection with the most bytes is aborted, so
// that a browser behind the address of a flood still gets its few responses. It is safe for concurrent use.
type stalls struct {
	pool    sync.Pool // of *stall
	metrics *requestmetrics.Stalls
	// perUser and together are the bounds in bytes, limit is the bound in time.
	perUser, together int64
	limit             time.Duration

	mu    sync.Mutex
	bytes int64
	users map[string]*stalledUser
}

// stalledUser has the connections with stalled requests of one user.
type stalledUser struct {
	name        string
	bytes       int64
	connections map[string]*stalledConnection // by the client's address and port
}

// stalledConnection has the stalled requests of one connection and user.
type stalledConnection struct {
	address string
	bytes   int64
	all     list.List // of *stall, the oldest first
}

// stall is a write of a response, a read of a body, or a wait for another request, in progress.
type stall struct {
	owner *stalls
	timer *time.Timer

	mu    sync.Mutex // locked before owner.mu
	e     *exchange  // nil after the write or read has returned
	reads bool
	bytes int64
	late  bool               // the timer has fired once
	waits context.CancelFunc // ends the wait for another request; nil for reads and writes

	// The fields below are guarded by owner.mu.
	user       *stalledUser // nil unless counted
	connection *stalledConnection
	place      *list.Element
	ended      bool // was chosen to be aborted
}

func newStalls(m *requestmetrics.Metrics, limit time.Duration) *stalls {
	if m == nil {
		m = requestmetrics.New() // not exported
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

// begin is called before a write or read that may wait for the client, or a wait. The request retains bytes.
func (s *stalls) begin(e *exchange, bytes int64, reads bool, waits context.CancelFunc) *stall {
	x := s.pool.Get().(*stall)
	x.mu.Lock()
	x.e, x.bytes, x.reads, x.late, x.waits = e, bytes, reads, false, waits
	x.mu.Unlock()
	x.timer.Reset(stalledAfter)
	return x
}

// end is called when the write or read has returned.
func (x *stall) end() {
	idle := x.timer.Stop()
	late := x.detach()
	if late && x.owner.remove(x) {
		return // another goroutine still uses it, to abort it
	}
	if idle {
		x.owner.pool.Put(x)
	}
}

// detach detaches the stall from its request, and reports whether the timer has fired.
func (x *stall) detach() (late bool) {
	x.mu.Lock()
	defer x.mu.Unlock()
	x.e = nil
	return x.late
}

// fired is called when the write or read has taken stalledAfter, and for a write again after the limit.
func (x *stall) fired() {
	x.mu.Lock()
	e := x.e
	if e == nil {
		x.mu.Unlock()
		return
	}
	if x.late {
		// On HTTP/2 the server applies the same limit to the connection as a whole.
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
	e.Release()
	var over []*stall
	if e.boundsStalls() {
		over = x.owner.add(x, e.stalledUserName(), e.client.RemoteAddr)
		if !x.reads { // the request's deadline bounds bodies
			x.timer.Reset(x.owner.limit)
		}
	}
	x.mu.Unlock()
	for _, o := range over {
		o.cut()
	}
}

// add counts a request, and returns the requests to abort because of it.
func (s *stalls) add(x *stall, who, address string) (over []*stall) {
	s.mu.Lock()
	defer s.mu.Unlock()
	u := s.users[who]
	if u == nil {
		u = &stalledUser{name: who, connections: map[string]*stalledConnection{}}
		s.users[who] = u
	}
	c := u.connections[address]
	if c == nil {
		c = &stalledConnection{address: address}
		u.connections[address] = c
	}
	x.user, x.connection, x.place = u, c, c.all.PushBack(x)
	s.count(u, c, x.bytes, 1)
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

// choose removes and returns the oldest request of the heaviest connection of a user, to be aborted. The caller holds
// the mutex.
func (s *stalls) choose(u *stalledUser) *stall {
	var heaviest *stalledConnection
	for _, c := range u.connections {
		if heaviest == nil || c.bytes > heaviest.bytes {
			heaviest = c
		}
	}
	x := heaviest.all.Front().Value.(*stall)
	x.ended = true
	s.drop(x)
	return x
}

// remove removes a request, and reports whether it was chosen to be aborted. The request may never have been
// counted.
func (s *stalls) remove(x *stall) (ended bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if x.user != nil {
		s.drop(x)
	}
	return x.ended
}

// drop stops counting a request. The caller holds the mutex.
func (s *stalls) drop(x *stall) {
	u, c := x.user, x.connection
	c.all.Remove(x.place)
	x.user, x.connection, x.place = nil, nil, nil
	s.count(u, c, -x.bytes, -1)
	if c.all.Len() == 0 {
		delete(u.connections, c.address)
	}
	if len(u.connections) == 0 {
		delete(s.users, u.name)
	}
}

func (s *stalls) count(u *stalledUser, c *stalledConnection, bytes int64, requests int) {
	u.bytes += bytes
	c.bytes += bytes
	s.bytes += bytes
	s.metrics.Add(requests, bytes)
}

// cut aborts the request, unless its write or read has returned already.
func (x *stall) cut() {
	x.mu.Lock()
	defer x.mu.Unlock()
	switch {
	case x.e == nil:
	case x.waits != nil:
		x.waits()
	default:
		x.e.cut(x.reads)
	}
}

// Wait implements request.Seats. The request is counted as if it waited for its body.
func (e *exchange) Wait(ctx context.Context) (_ context.Context, end func()) {
	ctx, cancel := context.WithCancel(ctx)
	x := e.stalls.begin(e, stalledLeast, true, cancel)
	return ctx, func() {
		x.end()
		cancel()
	}
}

// cut makes the write or read in progress fail. It must be called only while there is one.
func (e *exchange) cut(reads bool) {
	past := time.Unix(1, 0)
	c := http.NewResponseController(e.ResponseWriter)
	if reads {
		_ = c.SetReadDeadline(past) // fails only on closed connections
	} else {
		_ = c.SetWriteDeadline(past)
	}
}

// boundsStalls reports whether StalledLimit applies. It does not apply to long-running responses other than
// watches, for example logs, which people may read slowly.
func (e *exchange) boundsStalls() bool { return !e.longRunning || e.isWatch() }

// stalledUserName returns the name of the authenticated user, otherwise the client's address.
func (e *exchange) stalledUserName() string {
	if e.User != nil && e.User.Name != user.Anonymous {
		return "user " + e.User.Name
	}
	host, _, err := net.SplitHostPort(e.client.RemoteAddr)
	if err != nil {
		host = e.client.RemoteAddr
	}
	return "address " + host
}

// Release implements request.Seats. The request has completed or initialized, or waits. It also releases the place in
// the limiter, and may be called several times and concurrently.
func (e *exchange) Release() {
	if !e.seated.CompareAndSwap(true, false) {
		return
	}
	if e.limiter != nil {
		e.limiter.leave()
	}
	if e.ticket != nil {
		e.ticket.Leave()
	}
}

// Connection changes properties of the connection of a request.
type Connection interface {
	// AddPatient adds to the number of requests during which the client may read nothing for longer than
	// StalledLimit.
	AddPatient(requests int)
}

type connectionKey struct{}

// WithConnection returns a context for the requests of a connection.
func WithConnection(ctx context.Context, c Connection) context.Context {
	return context.WithValue(ctx, connectionKey{}, c)
}

// connectionOf returns the connection of a request's context; nil if the listener sets none.
func connectionOf(ctx context.Context) Connection {
	c, _ := ctx.Value(connectionKey{}).(Connection)
	return c
}
