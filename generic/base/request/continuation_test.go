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
			want: []string{"filters have returned", "runs", "end of the handler", "end of the filter"}},
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
			if Continue(ctx, func() {
				got = append(got, "runs")
				if c.panics {
					panic(errors.New("broken"))
				}
			}) != c.continues {
				t.Errorf("%s: Continue", name)
			}
		}
		func() {
			defer s.AtEnd(end("end of the filter"))
			handler(&s)
		}()
		got = append(got, "filters have returned")
		s.RunContinuation()
		if !slices.Equal(got, c.want) {
			t.Errorf("%s: %q, not %q", name, got, c.want)
		}
	}
	if Continue(t.Context(), nil) {
		t.Error("a context without a request continues")
	}
}
