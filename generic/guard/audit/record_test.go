package audit

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/base/user"
)

// kept is a backend that encodes events when they are processed.
type kept struct {
	mu     sync.Mutex
	events []*Event
	lines  []string
	fails  bool
}

func (k *kept) Process(events ...*Event) bool {
	k.mu.Lock()
	defer k.mu.Unlock()
	for _, e := range events {
		line, err := e.Encode()
		if err != nil {
			panic(err)
		}
		k.events, k.lines = append(k.events, e), append(k.lines, string(line))
	}
	return !k.fails
}

func (k *kept) Close(context.Context) {}

func (k *kept) stages() string {
	var all []string
	for _, e := range k.events {
		all = append(all, string(e.Stage))
	}
	return strings.Join(all, " ")
}

// open returns an opened record for a get of a pod by alice.
func open(t *testing.T, p *Policy, longRunning bool, change func(*Request)) (*Record, *kept) {
	t.Helper()
	k := &kept{}
	r := New(p, k, nil).Begin()
	q := &Request{ID: "id", HTTP: httptest.NewRequest(http.MethodGet, "/api/v1/namespaces/n/pods/p?pretty=0", nil), Received: time.Now(),
		Attributes: attributes("alice", "get", "n", "", "pods", "", "p"), LongRunning: longRunning}
	if change != nil {
		change(q)
	}
	if audited, stored := r.Open(q); !audited || !stored {
		t.Fatalf("audited %v, stored %v", audited, stored)
	}
	return r, k
}

func all(l Level) *Policy { return &Policy{Rules: []PolicyRule{{Level: l}}} }

func TestStages(t *testing.T) {
	for name, c := range map[string]struct {
		longRunning bool
		omit        []Stage
		then        func(*Record)
		want        string
		code        int32
	}{
		"short":          {false, nil, func(r *Record) { r.Responds(200); r.Complete() }, "RequestReceived ResponseComplete", 200},
		"long":           {true, nil, func(r *Record) { r.Responds(201); r.Responds(500); r.Complete() }, "RequestReceived ResponseStarted ResponseComplete", 201},
		"no answer":      {false, nil, func(r *Record) { r.Complete(); r.Complete() }, "RequestReceived ResponseComplete", 200},
		"long, no":       {true, nil, func(r *Record) { r.Complete() }, "RequestReceived ResponseStarted ResponseComplete", 200},
		"panic":          {false, nil, func(r *Record) { r.Panicked("x"); r.Complete() }, "RequestReceived Panic", 500},
		"some omitted":   {true, []Stage{StageRequestReceived, StageResponseStarted}, func(r *Record) { r.Responds(200); r.Complete() }, "ResponseComplete", 200},
		"panic omitted":  {false, []Stage{StagePanic}, func(r *Record) { r.Panicked("x") }, "RequestReceived", 0},
		"after the end":  {false, nil, func(r *Record) { r.Responds(200); r.Complete(); r.Panicked("x"); r.Annotate("k", "v") }, "RequestReceived ResponseComplete", 200},
		"status, code":   {false, nil, func(r *Record) { r.ResponseStatus(&metav1.Status{Code: 404}); r.Responds(404); r.Complete() }, "RequestReceived ResponseComplete", 404},
		"panic at start": {true, nil, func(r *Record) { r.Responds(200); r.Panicked("x") }, "RequestReceived ResponseStarted Panic", 500},
	} {
		p := all(LevelMetadata)
		p.OmitStages = c.omit
		r, k := open(t, p, c.longRunning, nil)
		c.then(r)
		if k.stages() != c.want {
			t.Errorf("%s: %s", name, k.stages())
		}
		last := k.events[len(k.events)-1]
		if c.code != 0 && last.ResponseStatus.Code != c.code || last.Annotations["k"] != "" {
			t.Errorf("%s: %+v", name, last)
		}
	}
}

func TestEventsDoNotChangeAfterwards(t *testing.T) {
	r, k := open(t, all(LevelRequestResponse), true, nil)
	r.Annotate("a", "1")
	r.Responds(200)
	r.Annotate("b", "2")
	r.Names(&metav1.ObjectMeta{UID: "uid"})
	r.ResponseStatus(&metav1.Status{Code: 500, Message: "later"})
	r.Complete()
	for i, e := range k.events {
		if line, err := e.Encode(); err != nil || string(line) != k.lines[i] {
			t.Errorf("%v\n was %s\n  is %s", err, k.lines[i], line)
		}
	}
}

func TestDescription(t *testing.T) {
	_, k := open(t, all(LevelMetadata), false, func(q *Request) {
		q.HTTP.Header.Set("User-Agent", strings.Repeat("u", 2000))
		q.HTTP.Header.Set("X-Forwarded-For", "10.0.0.1, 10.0.0.2")
		q.HTTP.RemoteAddr = "10.0.0.3:1"
		q.Received = time.Date(2026, 1, 2, 3, 4, 5, 678901234, time.FixedZone("x", 3600))
		q.Attributes.User.Extra = map[string][]string{"k": {"v"}}
	})
	want := `{"kind":"Event","apiVersion":"audit.k8s.io/v1","level":"Metadata","auditID":"id","stage":"RequestReceived",` +
		`"requestURI":"/api/v1/namespaces/n/pods/p?pretty=0","verb":"get","user":{"username":"alice","groups":["of-alice"],"extra":{"k":["v"]}},` +
		`"sourceIPs":["10.0.0.1","10.0.0.2","10.0.0.3"],"userAgent":"` + strings.Repeat("u", 1024) + `...TRUNCATED",` +
		`"objectRef":{"resource":"pods","namespace":"n","name":"p","apiVersion":"v1"},` +
		`"requestReceivedTimestamp":"2026-01-02T02:04:05.678901Z","stageTimestamp":`
	if !strings.HasPrefix(k.lines[0], strings.Replace(want, `,"apiVersion":"v1"}`, `}`, 1)) {
		t.Errorf("got %s", k.lines[0])
	}
}

func TestObjectsByLevel(t *testing.T) {
	for _, level := range []Level{LevelMetadata, LevelRequest, LevelRequestResponse} {
		r, k := open(t, all(level), false, nil)
		r.Names(&metav1.ObjectMeta{Name: "other", Namespace: "other", UID: "u", ResourceVersion: "7"})
		r.RequestObject([]byte(`{"a":1}`))
		r.ResponseObject([]byte(`{"b":2}`))
		r.Complete()
		e := k.events[1]
		if ref := e.ObjectRef; ref.Name != "p" || ref.Namespace != "n" || ref.UID != "u" || ref.ResourceVersion != "7" {
			t.Errorf("%s: %+v", level, ref)
		}
		if (e.RequestObject != nil) != (level != LevelMetadata) || (e.ResponseObject != nil) != (level == LevelRequestResponse) {
			t.Errorf("%s: %s %s", level, e.RequestObject, e.ResponseObject)
		}
		if !r.Records(LevelMetadata) || r.Records(LevelRequestResponse) != (level == LevelRequestResponse) {
			t.Errorf("%s: Records", level)
		}
	}
}

func TestOmittedObjects(t *testing.T) {
	p := all(LevelRequestResponse)
	p.OmitManagedFields = true
	r, k := open(t, p, false, nil)
	r.RequestObject([]byte(`{"broken":`))
	r.ResponseObject(append([]byte(`"`), append(make([]byte, MaxObject), '"')...))
	r.Complete()
	e := k.events[1]
	if e.RequestObject != nil || e.ResponseObject != nil || e.Annotations[TruncatedAnnotation] != "true" {
		t.Errorf("%+v", e)
	}
	r, k = open(t, p, false, nil)
	r.RequestObject([]byte(`{"metadata":{"managedFields":[]}}`))
	r.ResponseStatus(&metav1.Status{Message: "m", Code: 400})
	r.Complete()
	if e = k.events[1]; string(e.RequestObject) != `{"metadata":{}}` ||
		string(e.ResponseObject) != `{"kind":"Status","apiVersion":"v1","metadata":{},"message":"m","code":400}` {
		t.Errorf("%s %s", e.RequestObject, e.ResponseObject)
	}
}

func TestAnnotations(t *testing.T) {
	r, k := open(t, all(LevelMetadata), false, nil)
	r.Annotate("k", "first")
	r.Annotate("k", "second")
	r.Annotate("large", strings.Repeat("x", maxAnnotations))
	r.Responds(200)
	r.Complete()
	a := k.events[1].Annotations
	if a["k"] != "first" || a["large"] != "" {
		t.Errorf("%v", a)
	}
}

func TestImpersonation(t *testing.T) {
	for constraint, want := range map[string]string{
		"":                      `"impersonatedUser":{"username":"bob","groups":["g"]},"sourceIPs"`,
		"impersonate:user-info": `"impersonatedUser":{"username":"bob","groups":["g"]},"authenticationMetadata":{"impersonationConstraint":"impersonate:user-info"},"sourceIPs"`,
	} {
		r, k := open(t, all(LevelMetadata), false, nil)
		r.Impersonates(&user.Info{Name: "bob", Groups: []string{"g"}}, constraint)
		r.Complete()
		if !strings.Contains(k.lines[1], want) {
			t.Errorf("got %s", k.lines[1])
		}
	}
}

func TestUnauthenticated(t *testing.T) {
	m := metrics.New()
	k := &kept{}
	r := New(all(LevelMetadata), k, NewMetrics(m)).Begin()
	a := attributes("", "get", "n", "", "pods", "", "p")
	a.User = nil
	r.Annotate("authentication.k8s.io/x", "y")
	if !r.OpenUnauthenticated(&Request{HTTP: httptest.NewRequest(http.MethodGet, "/x", nil), Attributes: a}) {
		t.Fatal("not audited")
	}
	r.ResponseStatus(&metav1.Status{Code: http.StatusUnauthorized})
	r.Responds(http.StatusUnauthorized)
	if k.stages() != "ResponseStarted" || !strings.Contains(k.lines[0], `"user":{},`) || k.events[0].ResponseStatus.Code != 401 {
		t.Errorf("%v", k.lines)
	}
	if got := counted(t, m, "apiserver_audit_event_total"); got != 1 {
		t.Errorf("%v events are counted", got)
	}
}

func TestNotAudited(t *testing.T) {
	k := &kept{}
	q := &Request{HTTP: httptest.NewRequest(http.MethodGet, "/x", nil), Attributes: path("a", "get", "/x")}
	if audited, stored := New(all(LevelNone), k, nil).Begin().Open(q); audited || !stored {
		t.Errorf("audited %v, stored %v", audited, stored)
	}
	if New(all(LevelNone), k, nil).Begin().OpenUnauthenticated(q) || len(k.events) > 0 {
		t.Error("recorded at level None")
	}
	var none *Record
	none.Annotate("a", "b")
	none.Names(&metav1.ObjectMeta{})
	none.Impersonates(nil, "")
	none.RequestObject(nil)
	none.ResponseObject(nil)
	none.ResponseStatus(nil)
	none.Responds(200)
	none.Complete()
	none.Panicked(nil)
	if none.Records(LevelNone) {
		t.Error("nothing is recorded by nil")
	}
}

func TestRejected(t *testing.T) {
	m := metrics.New()
	k := &kept{fails: true}
	r := New(all(LevelMetadata), k, NewMetrics(m)).Begin()
	if audited, stored := r.Open(&Request{HTTP: httptest.NewRequest(http.MethodGet, "/x", nil), Attributes: path("a", "get", "/x")}); !audited || stored {
		t.Errorf("audited %v, stored %v", audited, stored)
	}
	r.Responds(500)
	r.Complete()
	if k.stages() != "RequestReceived" || counted(t, m, "apiserver_audit_requests_rejected_total") != 1 {
		t.Errorf("%s, %v rejected", k.stages(), counted(t, m, "apiserver_audit_requests_rejected_total"))
	}
}

func TestEncodeList(t *testing.T) {
	doc, err := EncodeList([]*Event{{Level: LevelMetadata, RequestObject: json.RawMessage(`{"a":"<"}`)}})
	want := `{"kind":"EventList","apiVersion":"audit.k8s.io/v1","metadata":{},"items":[{"level":"Metadata","auditID":"","stage":"","requestURI":"",` +
		`"verb":"","user":{},"requestObject":{"a":"\u003c"},"requestReceivedTimestamp":null,"stageTimestamp":null}]}`
	if err != nil || string(doc) != want {
		t.Errorf("%v %s", err, doc)
	}
}

// counted returns the value of a counter without labels.
func counted(t *testing.T, m *metrics.Registry, name string) float64 {
	t.Helper()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	for _, f := range families {
		if f.GetName() == name {
			return f.Metric[0].Counter.GetValue()
		}
	}
	return -1
}
