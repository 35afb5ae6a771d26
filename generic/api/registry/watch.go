package registry

import (
	"context"
	"errors"
	"io"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/watch"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/shard"
	"triplane.dev/generic/storage"
)

// Watch serves watch. The watch's time ends with the context's deadline.
func (s *Store[T]) Watch(ctx context.Context, opts *metainternalversion.ListOptions) (rest.EventStream, error) {
	if opts == nil {
		opts = &metainternalversion.ListOptions{}
	}
	o, err := s.watchOptions(ctx, opts)
	if err != nil {
		return nil, err
	}
	reader := s.fieldReader(ctx, o.Fields)
	if reader != nil {
		o.FieldReader = reader
	}
	w, err := s.cache.Watch(ctx, o)
	if err != nil {
		return nil, s.readError(err)
	}
	return &eventStream[T]{store: s, watch: w, fields: reader}, nil
}

// watchOptions reads the options of a watch.
func (s *Store[T]) watchOptions(ctx context.Context,
	opts *metainternalversion.ListOptions) (storage.WatchOptions, error) {
	o := storage.WatchOptions{Prefix: s.listPrefix(ctx), Bookmarks: opts.AllowWatchBookmarks}
	o.Key, o.Labels, o.Fields = s.selection(ctx, opts)
	var err error
	if o.Shard, _, err = shard.Of(opts); err != nil {
		return o, err
	}
	if o.Freshness, err = freshness(opts.ResourceVersion, storage.NotOlderThan); err != nil {
		return o, err
	}
	switch {
	case opts.SendInitialEvents != nil && *opts.SendInitialEvents:
		o.Initial = true
	case o.Freshness.Match == storage.NotOlderThan:
		o.Revision = o.Freshness.Revision
	case opts.SendInitialEvents != nil:
		// Nothing but what happens from now on.
		if o.Revision, err = s.options.Backend.Revision(ctx); err != nil {
			return o, s.readError(err)
		}
	}
	o.Deadline, _ = ctx.Deadline()
	return o, nil
}

// eventStream is a cache's events in the form of the API.
type eventStream[T kind.Object] struct {
	store  *Store[T]
	watch  storage.Watch
	fields *fieldReader[T] // nil where the hub's fields suffice
	events []rest.Event    // reused
}

// Next implements rest.EventStream. The slice is the caller's until the next
// call.
func (e *eventStream[T]) Next(ctx context.Context) ([]rest.Event, error) {
	batch, err := e.watch.Next(ctx)
	if err != nil {
		return nil, e.store.watchError(err)
	}
	if e.fields != nil && e.fields.err != nil {
		// Whether the object is selected is not known. The client begins again where it was.
		return nil, io.EOF
	}
	e.events = e.events[:0]
	for i := range batch {
		e.events = append(e.events, e.event(&batch[i]))
	}
	return e.events, nil
}

// Notify implements rest.EventStream.
func (e *eventStream[T]) Notify(wake func()) { e.watch.Notify(wake) }

// Stop implements rest.EventStream.
func (e *eventStream[T]) Stop() { e.watch.Stop() }

// Initializing implements rest.EventStream.
func (e *eventStream[T]) Initializing() bool { return e.watch.Initializing() }

var eventTypes = [...]watch.EventType{
	storage.Added: watch.Added, storage.Modified: watch.Modified, storage.Deleted: watch.Deleted,
	storage.Bookmark: watch.Bookmark,
}

func (e *eventStream[T]) event(ev *storage.Event) rest.Event {
	if ev.Type != storage.Bookmark {
		return rest.Event{Type: eventTypes[ev.Type], Object: e.store.stored(ev.Record)}
	}
	obj := e.store.kind.New()
	obj.GetObjectKind().SetGroupVersionKind(e.store.kind.Hub)
	e.store.form.CompleteBookmark(obj)
	obj.SetResourceVersion(storage.FormatRevision(ev.Revision))
	if ev.InitialEventsEnd {
		obj.SetAnnotations(map[string]string{metav1.InitialEventsAnnotationKey: "true"})
	}
	return rest.Event{Type: watch.Bookmark, Object: obj}
}

// watchError ends a stream: silently where the client has but to start again.
func (s *Store[T]) watchError(err error) error {
	switch {
	case errors.Is(err, storage.ErrTooSlow), errors.Is(err, storage.ErrStopped):
		return io.EOF
	case errors.Is(err, storage.ErrCompacted):
		return apierrors.NewResourceExpired("The resourceVersion for the provided watch is too old.")
	}
	return s.readError(err)
}
