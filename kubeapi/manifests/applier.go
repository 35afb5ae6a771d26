package manifests

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net/http"
	"slices"
	"sync"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/discovery"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/dynamic"
	restclient "k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"
	"k8s.io/klog/v2"
)

const (
	// FieldManager is the field manager of applied objects.
	FieldManager = "triplane-manifests"
	// SourceAnnotation of an applied object is the name of its file.
	SourceAnnotation = "triplane.dev/manifest"
	// ServiceAccount in kube-system is the identity of all requests.
	ServiceAccount = "manifest-controller"
	// StatusPath is the path of the status of files.
	StatusPath = "/debug/manifests"
)

const (
	// pollInterval is how often the directory is read. Files of mounted config maps are replaced by renaming a parent
	// directory, which watches of a file do not report.
	pollInterval = time.Second
	// settling is how long files must not change before they are read: of a file that is being written, objects are
	// missing that must not be deleted.
	settling = pollInterval / 2
	// resync is how often everything is applied again, which reverts changes by others.
	resync = 5 * time.Minute
	// Failures are retried after firstRetry, and then twice as long each time, until lastRetry.
	firstRetry = 100 * time.Millisecond
	lastRetry  = time.Minute
	// passWithin bounds one pass.
	passWithin = 2 * time.Minute
)

// Status is the result of the last pass.
type Status struct {
	Directory string `json:"directory"`
	Files     int    `json:"files"`
	Applied   int    `json:"applied"`
	Pruned    int    `json:"pruned"`
	// Problems are the errors of files and objects, which are retried.
	Problems []Problem `json:"problems"`
	Time     time.Time `json:"time"`
}

// Applier applies a directory.
type Applier struct {
	dir     string
	clients *clients
	metrics *metrics
	synced  chan struct{} // closed after the first pass without problems

	mu     sync.Mutex
	status Status
}

// New returns an applier of a directory, whose requests impersonate ServiceAccount.
func New(dir string, loopback *restclient.Config) (*Applier, error) {
	config := restclient.CopyConfig(loopback)
	config.ContentConfig = restclient.ContentConfig{} // custom resources do not support protobuf
	config.Impersonate.UserName = "system:serviceaccount:" + metav1.NamespaceSystem + ":" + ServiceAccount
	config.UserAgent = FieldManager
	objects, err := dynamic.NewForConfig(config)
	if err != nil {
		return nil, err
	}
	kinds, err := discovery.NewDiscoveryClientForConfig(config)
	if err != nil {
		return nil, err
	}
	mapper := restmapper.NewDeferredDiscoveryRESTMapper(memory.NewMemCacheClient(kinds))
	return &Applier{dir: dir, clients: &clients{objects, mapper}, metrics: newMetrics(), synced: make(chan struct{}),
		status: Status{Directory: dir, Problems: []Problem{}}}, nil
}

// Metrics returns the metrics.
func (a *Applier) Metrics() []prometheus.Collector { return a.metrics.all() }

// Synced returns a channel that is closed after the first pass without problems.
func (a *Applier) Synced() <-chan struct{} { return a.synced }

// Status returns the result of the last pass.
func (a *Applier) Status() Status {
	a.mu.Lock()
	defer a.mu.Unlock()
	return a.status
}

// ServeHTTP serves the status as JSON.
func (a *Applier) ServeHTTP(w http.ResponseWriter, _ *http.Request) {
	w.Header().Set("Content-Type", "application/json")
	w.Header().Set("Cache-Control", "no-store")
	if err := json.NewEncoder(w).Encode(a.Status()); err != nil {
		klog.V(2).InfoS("Failed to send the status of manifests", "err", err)
	}
}

// Run applies the directory until ctx is done.
func (a *Applier) Run(ctx context.Context) {
	var looked, seen []file
	var due time.Time
	retry, listed := firstRetry, true
	for {
		files, err := list(a.dir)
		wait := pollInterval
		settled := err != nil || slices.Equal(files, looked)
		if looked = files; !settled {
			wait = settling
		}
		changed := settled && ((err == nil) != listed || err == nil && !slices.Equal(files, seen))
		if changed {
			retry, seen, listed = firstRetry, files, err == nil
		}
		if changed || settled && !time.Now().Before(due) {
			if a.pass(ctx, files, err) {
				due = time.Now().Add(resync)
			} else {
				due = time.Now().Add(retry)
				retry = min(2*retry, lastRetry)
			}
		}
		if settled {
			wait = min(wait, max(0, time.Until(due)))
		}
		timer := time.NewTimer(wait)
		select {
		case <-ctx.Done():
			timer.Stop()
			return
		case <-timer.C:
		}
	}
}

// pass applies the objects of files and deletes removed ones. It reports whether there was no problem. listed is the
// error of reading the directory.
func (a *Applier) pass(ctx context.Context, files []file, listed error) bool {
	ctx, cancel := context.WithTimeout(ctx, passWithin)
	defer cancel()
	s := Status{Directory: a.dir, Files: len(files), Problems: []Problem{}}
	if listed != nil {
		s.Problems = append(s.Problems, Problem{Message: listed.Error()})
	} else if err := a.apply(ctx, files, &s); err != nil {
		s.Problems = append(s.Problems, Problem{Message: err.Error()})
	}
	if ctx.Err() != nil && len(s.Problems) > 0 {
		return false // the server stops, or is too slow: problems say nothing about files
	}
	s.Time = time.Now()
	a.report(s)
	return len(s.Problems) == 0
}

// apply applies the objects of files in their order, and prunes. It returns an error that concerns no file.
func (a *Applier) apply(ctx context.Context, files []file, s *Status) error {
	objects, problems := read(a.dir, files)
	if now, err := list(a.dir); err != nil || !slices.Equal(now, files) {
		return errors.New("files were changed while they were read")
	}
	s.Problems = append(s.Problems, problems...)
	slices.SortStableFunc(objects, func(a, b object) int { return cmp.Compare(rank(a), rank(b)) })
	before, err := a.clients.inventory(ctx)
	if err != nil {
		return err
	}
	p := newPlan(before, problems)
	a.clients.mapper.Reset()
	known := len(before)
	for _, o := range objects {
		if _, r, err := a.clients.target(o); err == nil {
			p.add(r)
		}
	}
	if len(p.all) != known {
		if err := a.clients.setInventory(ctx, p.all); err != nil { // before objects exist
			return err
		}
	}
	for _, o := range objects {
		r, found, err := a.one(ctx, o)
		if found {
			p.keep(r) // also after an error: it may have been applied before
		} else {
			p.keepFile(o.file)
		}
		if err == nil {
			s.Applied++
			continue
		}
		s.Problems = append(s.Problems, Problem{o.file, o.document, r.String(), err.Error()})
	}
	return a.prune(ctx, p, s)
}

// one applies an object. found reports whether its kind is served.
func (a *Applier) one(ctx context.Context, o object) (r reference, found bool, err error) {
	client, r, err := a.clients.target(o)
	if meta.IsNoMatchError(err) {
		a.clients.mapper.Reset() // its definition may have just been applied
		client, r, err = a.clients.target(o)
	}
	if err != nil {
		return r, false, err
	}
	applied := o.DeepCopy()
	applied.SetNamespace(r.Namespace)
	annotations := applied.GetAnnotations()
	if annotations == nil {
		annotations = map[string]string{}
	}
	annotations[SourceAnnotation] = o.file
	applied.SetAnnotations(annotations)
	patch, err := applied.MarshalJSON()
	if err != nil {
		return r, true, err
	}
	return r, true, a.clients.patch(ctx, client, r.Name, patch)
}

// patch applies an object.
func (c *clients) patch(ctx context.Context, client dynamic.ResourceInterface, name string, patch []byte) error {
	force := true
	_, err := client.Patch(ctx, name, types.ApplyPatchType, patch,
		metav1.PatchOptions{FieldManager: FieldManager, Force: &force})
	return err
}

// prune deletes the objects that are in no file, the last applied first, and writes the inventory.
func (a *Applier) prune(ctx context.Context, p *plan, s *Status) error {
	kept := []reference{}
	for _, r := range p.all {
		if p.kept[r.identity()] {
			kept = append(kept, p.references[r.identity()])
		}
	}
	for _, r := range slices.Backward(p.all) {
		if p.kept[r.identity()] {
			continue
		}
		deleted, err := a.clients.remove(ctx, r)
		if err != nil {
			s.Problems = append(s.Problems, Problem{File: r.File, Object: r.String(), Message: "prune: " + err.Error()})
			kept = append(kept, r)
			continue
		}
		if deleted {
			s.Pruned++
			klog.InfoS("Deleted object that was removed from manifests", "object", r.String(), "file", r.File)
		}
	}
	if slices.Equal(kept, p.before) {
		return nil
	}
	return a.clients.setInventory(ctx, kept)
}

// rank orders objects: definitions, namespaces, others.
func rank(o object) int {
	switch gk := o.GroupVersionKind().GroupKind(); {
	case gk.Group == "apiextensions.k8s.io" && gk.Kind == "CustomResourceDefinition":
		return 0
	case gk.Group == "" && gk.Kind == "Namespace":
		return 1
	}
	return 2
}

// report logs new problems, and sets the status and the metrics.
func (a *Applier) report(s Status) {
	a.mu.Lock()
	before := a.status
	a.status = s
	a.mu.Unlock()
	for _, p := range s.Problems {
		if !slices.Contains(before.Problems, p) {
			klog.ErrorS(fmt.Errorf("%s", p.Message), "Failed to apply manifests, will retry", "directory", a.dir,
				"file", p.File, "document", p.Document, "object", p.Object)
		}
	}
	if len(s.Problems) == 0 && (before.Time.IsZero() || len(before.Problems) > 0 || s.Applied != before.Applied ||
		s.Pruned > 0) {
		klog.InfoS("Applied manifests", "directory", a.dir, "files", s.Files, "objects", s.Applied, "pruned", s.Pruned)
	}
	a.metrics.set(s)
	if len(s.Problems) > 0 {
		return
	}
	select {
	case <-a.synced:
	default:
		close(a.synced)
	}
}
