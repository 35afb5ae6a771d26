package allocator

import (
	"context"
	"slices"
	"testing"
	"testing/synctest"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
)

// written is a client that notes what is written.
type written struct {
	eventsv1client.EventInterface
	calls   []string
	expired bool
}

func (w *written) Events(string) eventsv1client.EventInterface { return w }

func (w *written) Create(_ context.Context, e *eventsv1.Event, _ metav1.CreateOptions) (*eventsv1.Event, error) {
	w.calls = append(w.calls, "create "+e.Namespace+" "+e.Regarding.Kind+" "+e.Regarding.Name+" "+e.ReportingController+" "+e.Note)
	w.expired = false
	return e, nil
}

func (w *written) Patch(_ context.Context, name string, _ types.PatchType, patch []byte, _ metav1.PatchOptions,
	_ ...string) (*eventsv1.Event, error) {
	if w.expired {
		return nil, apierrors.NewNotFound(eventsv1.Resource("events"), name)
	}
	w.calls = append(w.calls, "patch "+string(patch))
	return &eventsv1.Event{}, nil
}

func TestProblemsAreCounted(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client := &written{}
		r := NewRecorders(client, func(f func(context.Context)) { f(t.Context()) }).Ports
		s := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "s"}}
		pass := func(after time.Duration, want ...string) {
			t.Helper()
			time.Sleep(after)
			client.calls = nil
			r.record([]problem{{s, "Reason", "Action", "port %d", []any{1}}})
			if !slices.Equal(client.calls, want) {
				t.Errorf("%q, not %q", client.calls, want)
			}
		}
		const create = "create n Service s portallocator-repair-controller port 1"
		pass(0, create)
		pass(3*time.Minute, `patch {"series":{"count":2,"lastObservedTime":"2000-01-01T00:03:00.000000Z"}}`)
		pass(3*time.Minute, `patch {"series":{"count":3,"lastObservedTime":"2000-01-01T00:06:00.000000Z"}}`)
		client.expired = true
		pass(3*time.Minute, create)
		pass(7*time.Minute, create)
		pass(7*time.Minute, create)
		s.ResourceVersion = "2"
		pass(time.Minute, create)
	})
	var none *Recorder
	none.record([]problem{{}})
}
