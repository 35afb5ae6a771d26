package request

import (
	"context"
	"errors"
	"slices"
	"testing"
)

func TestContinuation(t *testing.T) {
	for name, c := range map[string]struct {
		supported, continues, panics bool
		want                         []string
	}{
		"not supported": {want: []string{"end of the handler", "end of the filter", "filters have returned"}},
		"not used":      {supported: true, want: []string{"end of the handler", "end of the filter", "filters have returned"}},
		"used": {supported: true, continues: true,
			want: []string{"filters have returned", "runs", "runs", "end of the handler", "end of the filter"}},
		"panics": {supported: true, continues: true, panics: true,
			want: []string{"filters have returned", "runs", "end of the handler: broken", "end of the filter: broken"}},
	} {
		var s State
		s.Init(t.Context())
		if c.supported {
			s.Continuation = &Continuation{}
		}
		var got []string
		end := func(what string) func(any) {
			return func(cause any) {
				if err, ok := cause.(error); ok {
					what += ": " + err.Error()
				}
				got = append(got, what)
			}
		}
		handler := func(ctx context.Context) {
			defer s.AtEnd(end("end of the handler"))
			if c.supported && !c.continues {
				return
			}
			rest, continues := Continue(ctx, func() (over bool) {
				got = append(got, "runs")
				if c.panics {
					panic(errors.New("broken"))
				}
				s.Continuation.Wake()
				return len(got) == 3
			})
			if continues != c.continues {
				t.Errorf("%s: Continue", name)
			}
			if continues {
				rest.Wake() // too early to matter
			}
		}
		func() {
			defer s.AtEnd(end("end of the filter"))
			handler(&s)
		}()
		got = append(got, "filters have returned")
		if s.Continues() {
			s.RunContinuation(nil)
		}
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	if _, continues := Continue(t.Context(), nil); continues {
		t.Error("a context without a request continues")
	}
}
