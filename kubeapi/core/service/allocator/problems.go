package allocator

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	corev1 "k8s.io/api/core/v1"
	eventsv1 "k8s.io/api/events/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clientscheme "k8s.io/client-go/kubernetes/scheme"
	eventsv1client "k8s.io/client-go/kubernetes/typed/events/v1"
	"k8s.io/client-go/tools/record/util"
	"k8s.io/client-go/tools/reference"
	"k8s.io/klog/v2"
)

// Recorders write Events about what a repair finds, in the names of kube-apiserver's two repair loops; nil writes none.
type Recorders struct{ IPs, Ports *Recorder }

// NewRecorders returns recorders with a client. Their work runs in goroutines of start, whose contexts end it.
func NewRecorders(client eventsv1client.EventsGetter, start func(func(context.Context))) Recorders {
	recorder := func(controller string) *Recorder {
		host, _ := os.Hostname()
		return &Recorder{client: client, start: start, controller: controller, instance: controller + "-" + host,
			recent: map[series]*eventsv1.Event{}}
	}
	return Recorders{IPs: recorder("ipallocator-repair-controller"), Ports: recorder("portallocator-repair-controller")}
}

// Recorder writes problems as warnings. A problem that is found again is counted in the series of its Event.
type Recorder struct {
	client               eventsv1client.EventsGetter
	start                func(func(context.Context))
	controller, instance string

	mu     sync.Mutex
	recent map[series]*eventsv1.Event
}

// series is what the Events of a series have in common.
type series struct {
	reason, action string
	regarding      corev1.ObjectReference
}

const (
	// endOfSeries is how long a problem may be absent until it begins another series.
	endOfSeries = 6 * time.Minute
	// mostProblems is how many of a pass are written.
	mostProblems = 1_000
)

// problem is what a repair found about an object.
type problem struct {
	object               runtime.Object
	reason, action, note string
	args                 []any
}

// record writes problems in the background.
func (r *Recorder) record(problems []problem) {
	if r == nil || len(problems) == 0 {
		return
	}
	r.start(func(ctx context.Context) {
		r.mu.Lock()
		defer r.mu.Unlock()
		r.dropEnded(time.Now())
		for _, p := range problems[:min(len(problems), mostProblems)] {
			if err := r.write(ctx, p); err != nil && ctx.Err() == nil {
				klog.V(2).InfoS("Failed to record an event", "reason", p.reason, "err", err)
			}
		}
	})
}

// dropEnded removes ended series. The caller holds r.mu.
func (r *Recorder) dropEnded(now time.Time) {
	for key, e := range r.recent {
		last := e.EventTime
		if e.Series != nil {
			last = e.Series.LastObservedTime
		}
		if now.Sub(last.Time) > endOfSeries {
			delete(r.recent, key)
		}
	}
}

// write creates the Event of a problem, or counts it. The caller holds r.mu.
func (r *Recorder) write(ctx context.Context, p problem) error {
	regarding, err := reference.GetReference(clientscheme.Scheme, p.object)
	if err != nil {
		return err
	}
	key := series{p.reason, p.action, *regarding}
	e := r.recent[key]
	if e == nil {
		e = r.event(key, fmt.Sprintf(p.note, p.args...))
		r.recent[key] = e
		return r.create(ctx, e)
	}
	if e.Series == nil {
		e.Series = &eventsv1.EventSeries{Count: 1}
	}
	e.Series.Count++
	e.Series.LastObservedTime = metav1.NowMicro()
	patch, err := json.Marshal(map[string]any{"series": e.Series})
	if err != nil {
		return err
	}
	_, err = r.client.Events(e.Namespace).Patch(ctx, e.Name, types.MergePatchType, patch, metav1.PatchOptions{})
	if apierrors.IsNotFound(err) { // it has expired
		return r.create(ctx, e)
	}
	return err
}

func (r *Recorder) create(ctx context.Context, e *eventsv1.Event) error {
	_, err := r.client.Events(e.Namespace).Create(ctx, e, metav1.CreateOptions{})
	return err
}

// event returns the Event of the first problem of a series.
func (r *Recorder) event(key series, note string) *eventsv1.Event {
	now, namespace := metav1.NowMicro(), key.regarding.Namespace
	if namespace == "" {
		namespace = metav1.NamespaceDefault
	}
	return &eventsv1.Event{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace,
			Name: util.GenerateEventName(key.regarding.Name, now.UnixNano())},
		EventTime: now, ReportingController: r.controller, ReportingInstance: r.instance, Action: key.action,
		Reason: key.reason, Regarding: key.regarding, Note: note, Type: corev1.EventTypeWarning,
	}
}
