package filters

import (
	"io"
	"net/http"
	"net/http/httptest"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/serve/requestmetrics"
)

// slowClient is a connection whose client reads nothing until it is released.
type slowClient struct {
	*httptest.ResponseRecorder
	begun chan struct{}
	take  chan struct{}
	cut   chan struct{}
	once  sync.Once
}

func newSlowClient() *slowClient {
	return &slowClient{httptest.NewRecorder(), make(chan struct{}, 100), make(chan struct{}), make(chan struct{}), sync.Once{}}
}

func (c *slowClient) Write(p []byte) (int, error) {
	c.begun <- struct{}{}
	select {
	case <-c.take:
		return c.ResponseRecorder.Write(p)
	case <-c.cut:
		return 0, os.ErrDeadlineExceeded
	}
}

func (c *slowClient) Flush() { _, _ = c.Write(nil) }

func (c *slowClient) SetWriteDeadline(d time.Time) error {
	if !d.IsZero() && d.Before(time.Now()) {
		c.once.Do(func() { close(c.cut) })
	}
	return nil
}

// eventually waits until the condition is true.
func eventually(t *testing.T, what string, holds func() bool) {
	t.Helper()
	for end := time.Now().Add(30 * time.Second); !holds(); time.Sleep(time.Millisecond) {
		if time.Now().After(end) {
			t.Fatalf("not in time: %s", what)
		}
	}
}

// A response that waits for its client holds no seats.
func TestStalledResponsesGiveSeatsBack(t *testing.T) {
	limits := testOptions()
	limits.MaxRequestsInFlight = 1
	initializing := flowOptions(1)
	for _, c := range []struct {
		name, path string
		o          Options
		size       int
	}{
		{"priority and fairness", "/api/v1/nodes/slow", flowOptions(1), 10_000},
		{"a watch that sends its first events", "/api/v1/nodes?watch=1", initializing, 0},
		{"limits in flight", "/api/v1/nodes/slow", limits, 10_000},
	} {
		c.o.Authorization = nil
		chain := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if i := request.InfoFrom(r.Context()); i.Name == "slow" || i.Verb == "watch" {
				_, _ = w.Write(make([]byte, c.size))
				_ = http.NewResponseController(w).Flush()
			}
		}), c.o)
		client, done := newSlowClient(), make(chan struct{})
		go func() {
			defer close(done)
			r := httptest.NewRequest(http.MethodGet, c.path, nil)
			r.Header.Set("Authorization", "Bearer alice")
			chain.ServeHTTP(client, r)
		}()
		if c.size == 0 {
			client.take <- struct{}{} // the write; the flush waits
		}
		<-client.begun
		eventually(t, c.name+": another request of the level is answered", func() bool {
			return serve(chain, "GET", "/api/v1/nodes/n", "Authorization", "Bearer alice").Code == http.StatusOK
		})
		close(client.take)
		<-done
		if c.size > 0 && client.Body.Len() != c.size {
			t.Errorf("%s: the client got %d bytes", c.name, client.Body.Len())
		}
		for range 3 { // nothing was given back twice, or kept
			if w := serve(chain, "GET", "/api/v1/nodes/n", "Authorization", "Bearer alice"); w.Code != http.StatusOK {
				t.Errorf("%s: %d", c.name, w.Code)
			}
		}
	}
}

// Clients that do not read the console's files do not block others.
func TestStalledFilesDoNotCount(t *testing.T) {
	o := testOptions()
	o.PublicFilesOptions = PublicFilesOptions{PublicPrefixes: []string{"/console/"}, PublicFiles: http.HandlerFunc(func(w http.ResponseWriter, _ *http.Request) {
		_, _ = w.Write(make([]byte, 10_000))
	})}
	chain := Chain(http.NotFoundHandler(), o)
	take := make(chan struct{})
	var all sync.WaitGroup
	for range publicAtOnce {
		client := newSlowClient()
		client.take = take
		all.Go(func() { chain.ServeHTTP(client, httptest.NewRequest(http.MethodGet, "/console/", nil)) })
		<-client.begun
	}
	eventually(t, "a file for another client", func() bool { return serve(chain, "GET", "/console/").Code == http.StatusOK })
	close(take)
	all.Wait()
}

// A request for a file waits for a place before it is rejected.
func TestFilesWaitForAPlace(t *testing.T) {
	files := &limiter{limit: 1, freed: make(chan struct{}, 1)}
	var first exchange
	if !first.occupyWithin(t.Context(), files, 0) {
		t.Fatal("an empty limiter has no room")
	}
	if new(exchange).occupyWithin(t.Context(), files, time.Millisecond) {
		t.Fatal("a full limiter has room")
	}
	const waiting = 10
	entered := make(chan bool)
	for range waiting {
		go func() {
			var e exchange
			ok := e.occupyWithin(t.Context(), files, time.Minute)
			if ok {
				e.Release()
			}
			entered <- ok
		}()
	}
	first.Release()
	for range waiting {
		if !<-entered {
			t.Error("a request did not get the place that another left")
		}
	}
}

// waits starts a write that blocks, and returns when it counts as stalled.
func (s *stalls) waits(t *testing.T, e *exchange, bytes int64) (*stall, *slowClient) {
	t.Helper()
	client := newSlowClient()
	e.ResponseWriter = client
	x := s.begin(e, bytes, false, nil)
	eventually(t, "the timer", func() bool {
		x.mu.Lock()
		defer x.mu.Unlock()
		return x.late
	})
	return x, client
}

func (c *slowClient) isCut() bool {
	select {
	case <-c.cut:
		return true
	default:
		return false
	}
}

// from returns a request of a user, or from an address.
func from(name, address string) *exchange {
	e := &exchange{client: &http.Request{RemoteAddr: address + ":1234", ProtoMajor: 2}}
	if name != "" {
		e.User = &user.Info{Name: name}
	}
	return e
}

// The memory of stalled responses is bounded, per user and in total; the oldest of the heaviest connection is aborted first.
func TestStalledResponsesAreBounded(t *testing.T) {
	s := newStalls(requestmetrics.New(), StalledLimit)
	s.perUser, s.together = 100, 250
	type response struct {
		who    *exchange
		bytes  int64
		ends   int // which it ends, -1 for none
		client *slowClient
		stall  *stall
	}
	all := []response{
		{who: from("a", "192.0.2.1"), bytes: 60, ends: -1},
		{who: from("a", "192.0.2.2"), bytes: 40, ends: -1},
		{who: from("a", "192.0.2.1"), bytes: 10, ends: 0}, // a has 50
		{who: from("", "192.0.2.1"), bytes: 90, ends: -1}, // the unknown are of an address
		{who: from(user.Anonymous, "192.0.2.2"), bytes: 95, ends: -1},
		{who: from("b", "192.0.2.2"), bytes: 15, ends: -1}, // 250 in all
		{who: from("b", "192.0.2.2"), bytes: 1, ends: 4},   // the heaviest
		{who: from("c", "192.0.2.2"), bytes: 101, ends: 7}, // more than anybody may have
	}
	ended := map[int]bool{}
	for i := range all {
		all[i].stall, all[i].client = s.waits(t, all[i].who, all[i].bytes)
		if all[i].ends >= 0 {
			ended[all[i].ends] = true
		}
		for j := range i + 1 {
			eventually(t, "the end of a response", func() bool { return all[j].client.isCut() == ended[j] })
		}
	}
	for i := range all {
		all[i].stall.end()
	}
	if s.bytes != 0 || len(s.users) != 0 {
		t.Errorf("%d bytes of %d users stay", s.bytes, len(s.users))
	}
}

// A client of HTTP/1.1 that reads nothing loses its connection; a client of a log does not.
func TestStalledResponsesEnd(t *testing.T) {
	for _, c := range []struct {
		name        string
		version     int
		longRunning bool
		verb        string
		cut         bool
	}{
		{"a list", 1, false, "list", true},
		{"a watch", 1, true, "watch", true},
		{"a log", 1, true, "get", false},
		{"a list over HTTP/2, which the connection ends", 2, false, "list", false},
	} {
		s := newStalls(nil, StalledLimit)
		s.limit = time.Millisecond
		e := from("a", "192.0.2.1")
		e.client.ProtoMajor, e.longRunning = c.version, c.longRunning
		e.info.IsResourceRequest, e.info.Verb = true, c.verb
		x, client := s.waits(t, e, 10)
		if c.cut {
			eventually(t, c.name+" ends", client.isCut)
		} else if time.Sleep(20 * time.Millisecond); client.isCut() {
			t.Errorf("%s has ended", c.name)
		}
		x.end()
	}
}

// Writes that end while their timers fire leave no state.
func TestStallsRace(t *testing.T) {
	s := newStalls(nil, StalledLimit)
	s.perUser = 500
	var all sync.WaitGroup
	for i := range 8 {
		all.Go(func() {
			for j := range 20 {
				e := from("a", "192.0.2.1")
				client := newSlowClient()
				e.ResponseWriter = client
				x := s.begin(e, 100, false, nil)
				select {
				case <-client.cut:
				case <-time.After(stalledAfter + time.Duration((i*20+j)%7-3)*100*time.Microsecond):
				}
				x.end()
			}
		})
	}
	all.Wait()
	if s.bytes != 0 || len(s.users) != 0 {
		t.Errorf("%d bytes of %d users stay", s.bytes, len(s.users))
	}
}

// A request whose body does not arrive holds no seats, and queues again when it arrives.
func TestBodiesThatDoNotComeHoldNoSeats(t *testing.T) {
	fair := flowOptions(1)
	limits := testOptions()
	limits.MaxMutatingRequestsInFlight = 1
	for name, o := range map[string]Options{"priority and fairness": fair, "limits in flight": limits} {
		o.Authorization = nil
		entered, leave := make(chan struct{}), make(chan struct{})
		chain := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			if request.InfoFrom(r.Context()).Name == "slow" {
				entered <- struct{}{}
				<-leave
			}
			if _, err := io.ReadAll(r.Body); apierrors.IsTooManyRequests(err) {
				w.WriteHeader(http.StatusTooManyRequests)
			}
		}), o)
		put := func(path string, body io.Reader) int {
			r := httptest.NewRequest(http.MethodPut, path, body)
			r.Header.Set("Authorization", "Bearer alice")
			w := httptest.NewRecorder()
			chain.ServeHTTP(w, r)
			return w.Code
		}
		for _, busy := range []bool{false, true} {
			body, sent := io.Pipe()
			waits, slow := make(chan int), make(chan int)
			go func() { waits <- put("/api/v1/nodes/a", body) }()
			if _, err := sent.Write([]byte("{")); err != nil {
				t.Fatal(err)
			}
			eventually(t, name+": another request", func() bool { return put("/api/v1/nodes/b", http.NoBody) == http.StatusOK })
			want := http.StatusOK
			if busy { // with the only seat
				go func() { slow <- put("/api/v1/nodes/slow", http.NoBody) }()
				<-entered
				want = http.StatusTooManyRequests
			}
			sent.Close()
			if code := <-waits; code != want {
				t.Errorf("%s: %d with its body, busy %v", name, code, busy)
			}
			if busy {
				leave <- struct{}{}
				<-slow
			}
			if code := put("/api/v1/nodes/b", http.NoBody); code != http.StatusOK {
				t.Errorf("%s: a seat is lost: %d", name, code)
			}
		}
	}
}

// Requests that wait for another one hold no seats, and the oldest end when they are too many.
func TestRequestsThatWaitForAnotherHoldNoSeats(t *testing.T) {
	var lock request.Lock
	o := flowOptions(1)
	o.Authorization = nil
	chain := Chain(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if request.InfoFrom(r.Context()).Name != "shared" {
			return
		}
		if err := lock.Lock(r.Context()); err != nil {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		defer lock.Unlock()
	}), o)
	get := func(path string) int {
		r := httptest.NewRequest(http.MethodGet, path, http.NoBody)
		r.Header.Set("Authorization", "Bearer alice")
		w := httptest.NewRecorder()
		chain.ServeHTTP(w, r)
		return w.Code
	}
	if err := lock.Lock(t.Context()); err != nil {
		t.Fatal(err)
	}
	waits := make(chan int)
	go func() { waits <- get("/api/v1/nodes/shared") }() // with the only seat
	eventually(t, "another request", func() bool { return get("/api/v1/nodes/other") == http.StatusOK })
	lock.Unlock()
	if code := <-waits; code != http.StatusOK {
		t.Errorf("the request that waited got %d", code)
	}

	s := newStalls(nil, StalledLimit)
	s.perUser = stalledLeast
	e := from("a", "192.0.2.1")
	e.stalls = s
	first, end := e.Wait(t.Context())
	eventually(t, "the first one is counted", func() bool {
		s.mu.Lock()
		defer s.mu.Unlock()
		return s.bytes > 0
	})
	_, endSecond := e.Wait(t.Context())
	<-first.Done()
	end()
	endSecond()
}

// A proxy may read the body after its handler has returned: no seats remain held.
func TestBodiesReadAfterTheHandler(t *testing.T) {
	o := testOptions()
	o.Authorization, o.MaxMutatingRequestsInFlight = nil, 1
	var kept io.Reader
	chain := Chain(http.HandlerFunc(func(_ http.ResponseWriter, r *http.Request) { kept = r.Body }), o)
	put := func(body io.Reader) int {
		r := httptest.NewRequest(http.MethodPut, "/api/v1/nodes/a", body)
		r.Header.Set("Authorization", "Bearer alice")
		w := httptest.NewRecorder()
		chain.ServeHTTP(w, r)
		return w.Code
	}
	put(strings.NewReader("{}"))
	if _, err := io.ReadAll(kept); err != nil {
		t.Error(err)
	}
	for range 3 {
		if code := put(http.NoBody); code != http.StatusOK {
			t.Errorf("a place is lost: %d", code)
		}
	}
}

// Of one user, the connection with the most bytes loses its oldest response, not a light one with an older response.
func TestStalledResponsesOfTheHeaviestConnectionEnd(t *testing.T) {
	s := newStalls(requestmetrics.New(), StalledLimit)
	s.perUser = 100
	_, light := s.waits(t, from("a", "192.0.2.1"), 20)
	var flood []*slowClient
	for range 3 {
		_, c := s.waits(t, from("a", "192.0.2.2"), 30)
		flood = append(flood, c)
	}
	eventually(t, "the oldest response of the flood ends", flood[0].isCut)
	if light.isCut() || flood[1].isCut() || flood[2].isCut() {
		t.Errorf("cut: the light connection's %v, the flood's later %v, %v", light.isCut(), flood[1].isCut(), flood[2].isCut())
	}
}
