package transport

import (
	"context"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/watch"
	"k8s.io/client-go/metadata"
)

// Key names an object in a workspace.
type Key struct {
	Workspace string
	types.NamespacedName
}

// KeyOf returns the key of an object that was read in all workspaces.
func KeyOf(o metav1.Object) Key {
	return Key{o.GetAnnotations()[Annotation], types.NamespacedName{Namespace: o.GetNamespace(), Name: o.GetName()}}
}

const (
	// followPage is the number of objects of a page, followPause the pause before a list after the end of a watch.
	followPage  = 500
	followPause = time.Second
)

// Follow calls changed for each object in all workspaces, and then for each one that is created, changed or deleted,
// until ctx is done. It may be called for an unchanged object. objects is a client of the configuration for all
// workspaces. Informers of client-go cannot be used there: they have one object of each name.
func Follow(ctx context.Context, objects metadata.ResourceInterface, changed func(Key)) {
	known := map[Key]bool{}
	for ctx.Err() == nil {
		_ = followOnce(ctx, objects, known, changed) // a failure ends a watch like its timeout
		select {
		case <-ctx.Done():
		case <-time.After(followPause):
		}
	}
}

// followOnce lists and watches the objects. known are the keys of those that exist.
func followOnce(ctx context.Context, objects metadata.ResourceInterface, known map[Key]bool, changed func(Key)) error {
	present, opts := map[Key]bool{}, metav1.ListOptions{Limit: followPage}
	for {
		page, err := objects.List(ctx, opts)
		if err != nil {
			return err
		}
		for i := range page.Items {
			k := KeyOf(&page.Items[i])
			present[k], known[k] = true, true
			changed(k)
		}
		if opts.Continue = page.Continue; opts.Continue == "" {
			opts = metav1.ListOptions{ResourceVersion: page.ResourceVersion, AllowWatchBookmarks: true}
			break
		}
	}
	for k := range known {
		if !present[k] {
			delete(known, k)
			changed(k)
		}
	}
	w, err := objects.Watch(ctx, opts)
	if err != nil {
		return err
	}
	defer w.Stop()
	for e := range w.ResultChan() {
		o, ok := e.Object.(metav1.Object)
		switch {
		case e.Type == watch.Error || !ok:
			return apierrors.FromObject(e.Object)
		case e.Type == watch.Bookmark:
			continue
		}
		k := KeyOf(o)
		if known[k] = true; e.Type == watch.Deleted {
			delete(known, k)
		}
		changed(k)
	}
	return nil
}
