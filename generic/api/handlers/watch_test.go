package handlers

import (
	"context"
	"encoding/binary"
	"errors"
	"io"
	"net"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"golang.org/x/net/websocket"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage/wire"
)

func events(f *fake) *batches {
	bookmark := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{ResourceVersion: "9"}}
	return &batches{end: io.EOF, events: [][]rest.Event{
		{{Type: apiwatch.Added, Object: f.stored(f.objects["a"])}, {Type: apiwatch.Modified, Object: f.stored(f.objects["b"])}},
		{{Type: apiwatch.Bookmark, Object: bookmark}},
	}}
}

func TestWatchJSON(t *testing.T) {
	s := newScope(t)
	f := newFake(s, "a", "b")
	f.stream = events(f)
	got := call(List(s), "GET", "/configmaps?watch=1&resourceVersion=1", "")
	want := `{"type":"ADDED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"a","namespace":"ns","uid":"uid-a","resourceVersion":"1"},"data":{"k":"v"}}}
{"type":"MODIFIED","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"b","namespace":"ns","uid":"uid-b","resourceVersion":"2"},"data":{"k":"v"}}}
{"type":"BOOKMARK","object":{"kind":"ConfigMap","apiVersion":"v1","metadata":{"resourceVersion":"9"}}}
`
	if got.Body.String() != want || got.Header().Get("Content-Type") != "application/json" || !got.Flushed {
		t.Errorf("%v\n%s", got.Header(), got.Body)
	}
}

func TestWatchProtobuf(t *testing.T) {
	s := newScope(t)
	f := newFake(s, "a", "b")
	f.stream = events(f)
	got := call(Watch(s), "GET", "/configmaps", "", "Accept", "application/vnd.kubernetes.protobuf;stream=watch")
	b := got.Body.Bytes()
	if ct := got.Header().Get("Content-Type"); ct != "application/vnd.kubernetes.protobuf;stream=watch" {
		t.Fatal(ct)
	}
	var types []string
	for len(b) > 0 {
		n := int(binary.BigEndian.Uint32(b))
		var e metav1.WatchEvent
		if err := e.Unmarshal(b[4 : 4+n]); err != nil {
			t.Fatal(err)
		}
		if !wire.IsProtobuf(e.Object.Raw) {
			t.Errorf("%q", e.Object.Raw)
		}
		types = append(types, e.Type)
		b = b[4+n:]
	}
	if strings.Join(types, " ") != "ADDED MODIFIED BOOKMARK" {
		t.Error(types)
	}
}

func TestWatchTableHasColumnsOnce(t *testing.T) {
	s := newScope(t)
	f := newFake(s, "a", "b")
	s.Table = showTable
	f.stream = events(f)
	got := call(Watch(s), "GET", "/configmaps", "", "Accept", "application/json;as=Table;v=v1;g=meta.k8s.io").Body.String()
	lines := strings.Split(strings.TrimSpace(got), "\n")
	if len(lines) != 3 || !strings.Contains(lines[0], `"columnDefinitions":[{`) || strings.Contains(lines[1], `"columnDefinitions":[{`) {
		t.Error(got)
	}
}

func TestWatchEnds(t *testing.T) {
	for name, end := range map[string]error{
		`"code":410`: apierrors.NewResourceExpired("too old resource version: 1 (2)"),
		`"code":500`: errors.New("boom"),
		"":           io.EOF,
	} {
		s := newScope(t)
		f := newFake(s)
		f.stream = &batches{end: end}
		got := call(Watch(s), "GET", "/configmaps", "").Body.String()
		if name == "" && got != "" || name != "" && (!strings.HasPrefix(got, `{"type":"ERROR","object":{"kind":"Status","apiVersion":"v1"`) || !strings.Contains(got, name)) {
			t.Errorf("%v: %s", end, got)
		}
	}
}

// dialWatch opens a watch over a WebSocket. The conns that the server accepts are wrapped,
// where wrap is set.
func dialWatch(t *testing.T, ctx context.Context, stream rest.EventStream, wrap func(net.Conn) net.Conn) *websocket.Conn {
	t.Helper()
	s := newScope(t)
	f := newFake(s, "a", "b")
	f.stream = stream
	if stream == nil {
		f.stream = events(f)
	}
	h := Watch(s)
	server := httptest.NewUnstartedServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		h(w, r.WithContext(request.WithInfo(ctx, &request.Info{Namespace: "ns"})))
	}))
	server.Listener = wrapping{server.Listener, wrap}
	server.Start()
	t.Cleanup(server.Close)
	ws, err := websocket.Dial("ws"+strings.TrimPrefix(server.URL, "http"), "", server.URL)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = ws.Close() })
	return ws
}

type wrapping struct {
	net.Listener
	wrap func(net.Conn) net.Conn
}

func (l wrapping) Accept() (net.Conn, error) {
	c, err := l.Listener.Accept()
	if err == nil && l.wrap != nil {
		c = l.wrap(c)
	}
	return c, err
}

func TestWatchWebSocket(t *testing.T) {
	ws := dialWatch(t, t.Context(), nil, nil)
	for _, want := range []string{`{"type":"ADDED","object":{"kind":"ConfigMap"`, `{"type":"MODIFIED"`, `{"type":"BOOKMARK"`} {
		var text string
		if err := websocket.Message.Receive(ws, &text); err != nil || !strings.HasPrefix(text, want) || !strings.HasSuffix(text, "}}\n") || strings.Count(text, "\n") != 1 {
			t.Errorf("%v %q", err, text)
		}
	}
}

// deadlines reports the deadlines of writes to a connection.
type deadlines struct {
	net.Conn
	set chan<- time.Time
}

func (d deadlines) SetWriteDeadline(at time.Time) error {
	d.set <- at
	return d.Conn.SetWriteDeadline(at)
}

func TestWatchWebSocketEndsThoughTheClientReadsNoMore(t *testing.T) {
	ctx, end := context.WithCancel(t.Context())
	set := make(chan time.Time, 10)
	dialWatch(t, ctx, &batches{}, func(c net.Conn) net.Conn { return deadlines{c, set} })
	end()
	select {
	case at := <-set:
		if left := time.Until(at); left <= 0 || left > stuckWatch {
			t.Errorf("writes may last for another %v", left)
		}
	case <-time.After(10 * time.Second):
		t.Error("nothing bounds the writes after the end of the watch")
	}
}

// released has an event once it may.
type released struct {
	batches
	may chan struct{}
}

func (r *released) Next(ctx context.Context) ([]rest.Event, error) {
	select {
	case <-r.may:
		return r.batches.Next(ctx)
	default:
		<-ctx.Done()
		return nil, ctx.Err()
	}
}

func (r *released) Notify(wake func()) {
	go func() {
		<-r.may
		wake()
	}()
}

func TestWatchWebSocketDropsWhatClientsSend(t *testing.T) {
	stream := &released{may: make(chan struct{})}
	stream.events = [][]rest.Event{{{Type: apiwatch.Bookmark, Object: &corev1.ConfigMap{}}}}
	ws := dialWatch(t, t.Context(), stream, nil)
	// A message as large as this is not kept until it is complete.
	if err := websocket.Message.Send(ws, make([]byte, websocket.DefaultMaxPayloadBytes+1)); err != nil {
		t.Fatal(err)
	}
	close(stream.may)
	var text string
	if err := websocket.Message.Receive(ws, &text); err != nil || !strings.HasPrefix(text, `{"type":"BOOKMARK"`) {
		t.Errorf("%v %q", err, text)
	}
}

// broken is an object that cannot be read from storage.
type broken struct{ rest.Stored }

func (broken) Wire(schema.GroupVersion, wire.MediaType) ([]byte, error) {
	return nil, &apierrors.StatusError{ErrStatus: metav1.Status{Reason: metav1.StatusReasonStoreReadError, Message: "lost"}}
}

func TestWatchWebSocketNamesWhatCannotBeRead(t *testing.T) {
	ws := dialWatch(t, t.Context(), &batches{events: [][]rest.Event{{{Type: apiwatch.Added, Object: broken{}}}}}, nil)
	var text string
	if err := websocket.Message.Receive(ws, &text); err != nil || !strings.HasPrefix(text, `{"type":"ERROR"`) || !strings.Contains(text, "StorageReadError") {
		t.Errorf("%v %q", err, text)
	}
}

func TestWatchWhoseTimeIsOverBeforeItBegins(t *testing.T) {
	s := newScope(t)
	// The storage is not as new as the watch wants it before the watch's time is over.
	s.Storage.Watch = func(ctx context.Context, _ *internalversion.ListOptions) (rest.EventStream, error) {
		<-ctx.Done()
		return nil, ctx.Err()
	}
	got := call(Watch(s), "GET", "/configmaps?timeoutSeconds=1", "")
	if got.Code != http.StatusOK || got.Body.Len() != 0 {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}

func TestWatchThatCannotBegin(t *testing.T) {
	for query, want := range map[string]string{
		"?resourceVersion=1": `"message":"too old resource version: 1 (2)","reason":"Expired","code":410`,
		"?timeoutSeconds=-1": `"message":"context deadline exceeded","reason":"InternalError","code":500`,
	} {
		s := newScope(t)
		s.Storage.Watch = func(context.Context, *internalversion.ListOptions) (rest.EventStream, error) {
			return nil, apierrors.NewResourceExpired("too old resource version: 1 (2)")
		}
		got := call(Watch(s), "GET", "/configmaps"+query, "")
		if got.Code != http.StatusOK || !strings.HasPrefix(got.Body.String(), `{"type":"ERROR"`) || !strings.Contains(got.Body.String(), want) {
			t.Errorf("%s: %d %s", query, got.Code, got.Body)
		}
	}
}

// TestInitialEventsOfTheFuture answers with an event where initial events are to be newer than
// anything, and with an error otherwise.
func TestInitialEventsOfTheFuture(t *testing.T) {
	s := newScope(t)
	f := newFake(s, "a")
	large := apierrors.NewTimeoutError("Too large resource version: 9, current: 1", 1)
	large.ErrStatus.Details.Causes = []metav1.StatusCause{{Type: metav1.CauseTypeResourceVersionTooLarge}}
	f.streamErr = large
	const query = "/configmaps?watch=1&resourceVersion=9"
	got := call(List(s), "GET", query+"&sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=true", "")
	if got.Code != http.StatusOK || !strings.HasPrefix(got.Body.String(), `{"type":"ERROR","object":{`) {
		t.Errorf("%d %s", got.Code, got.Body)
	}
	if got := call(List(s), "GET", query, ""); got.Code != http.StatusGatewayTimeout {
		t.Errorf("%d %s", got.Code, got.Body)
	}
}
