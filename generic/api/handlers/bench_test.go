package handlers

import (
	"context"
	"fmt"
	"io"
	"net/http"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	apiwatch "k8s.io/apimachinery/pkg/watch"

	"triplane.dev/generic/api/handlers/responsewriters"
	"triplane.dev/generic/api/negotiation"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// nowhere is a response that costs nothing.
type nowhere struct {
	header http.Header
	n      int
}

func (w *nowhere) Header() http.Header         { return w.header }
func (w *nowhere) WriteHeader(int)             {}
func (w *nowhere) Write(b []byte) (int, error) { w.n += len(b); return len(b), nil }

func benchRequest(b *testing.B, method, target string) *http.Request {
	b.Helper()
	r, err := http.NewRequestWithContext(request.WithInfo(context.Background(), &request.Info{Namespace: "ns", Name: "a"}), method, target, nil)
	if err != nil {
		b.Fatal(err)
	}
	return r
}

func BenchmarkGet(b *testing.B) {
	s := newScope(b)
	f := newFake(s, "a")
	obj := f.stored(f.objects["a"])
	s.Storage.Get = func(context.Context, rest.GetRequest) (runtime.Object, error) { return obj, nil }
	h := Get(s)
	r := benchRequest(b, "GET", "/api/v1/namespaces/ns/configmaps/a")
	w := &nowhere{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		h(w, r)
	}
}

func BenchmarkList500(b *testing.B) {
	s := newScope(b)
	f := newFake(s)
	list := &rest.StoredList{ResourceVersion: "7"}
	for i := range 500 {
		st := f.stored(f.put(&corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("c", i), Namespace: "ns"}, Data: map[string]string{"k": "v"}}))
		list.Items = append(list.Items, st)
	}
	r := benchRequest(b, "GET", "/api/v1/namespaces/ns/configmaps")
	w := &nowhere{header: http.Header{}}
	b.ReportAllocs()
	for b.Loop() {
		a := responsewriters.Response{Scope: &s.Scope, Writer: w, Request: r, Output: negotiation.Output{}}
		if err := a.Write(http.StatusOK, list); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkCreate(b *testing.B) {
	s := newScope(b)
	f := newFake(s)
	h := Create(s)
	b.ReportAllocs()
	for b.Loop() {
		clear(f.objects)
		call(h, "POST", "/configmaps", `{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"a"},"data":{"k":"v"}}`)
	}
}

// repeat hands out the same event a number of times.
type repeat struct {
	batch []rest.Event
	n     int
}

func (s *repeat) Next(context.Context) ([]rest.Event, error) {
	if s.n <= 0 {
		return nil, io.EOF
	}
	s.n -= len(s.batch)
	return s.batch, nil
}

func (s *repeat) Stop() {}

func (s *repeat) Notify(func()) {}

func (s *repeat) Initializing() bool { return false }

func BenchmarkWatchEvent(b *testing.B) {
	s := newScope(b)
	f := newFake(s, "a")
	e := rest.Event{Type: apiwatch.Modified, Object: f.stored(f.objects["a"])}
	enc, err := responsewriters.NewEventEncoder(&s.Scope, benchRequest(b, "GET", "/x?watch=1"), negotiation.Output{})
	if err != nil {
		b.Fatal(err)
	}
	b.ReportAllocs()
	out := &sender{ctx: b.Context(), stream: &repeat{batch: []rest.Event{e}, n: b.N}, enc: enc,
		send: func([]byte) error { return nil }}
	out.pump()
}
