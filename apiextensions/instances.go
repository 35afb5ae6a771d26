package apiextensions

import (
	"context"
	"errors"
	"io"

	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"

	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// deleteInstances deletes all objects of a CRD and waits until they are gone,
// which finalizers may delay.
func (h *crHandler) deleteInstances(ctx context.Context, crd definitionObject) error {
	res := h.catalogue.find(named(crd.Name))
	if res == nil || res.crd.Status.AcceptedNames.Plural == "" || res.crd.Status.AcceptedNames.Kind == "" {
		return nil // nothing of it was ever served
	}
	s, err := h.acquire(ctx, res, true)
	if err != nil {
		return err
	}
	defer s.release(true)
	left, err := deleteAll(ctx, s.store)
	if err != nil || left == "" {
		return err
	}
	return waitForNone(ctx, s.store, left)
}

// deleteAll asks for the deletion of every object, namespace by namespace. It
// returns a resourceVersion to wait from if there is any.
func deleteAll(ctx context.Context, store *registry.Store[object]) (string, error) {
	list, err := store.List(ctx, &metainternalversion.ListOptions{})
	if err != nil {
		return "", err
	}
	stored, ok := list.(*rest.StoredList)
	if !ok || len(stored.Items) == 0 {
		return "", nil
	}
	namespaces := map[string]bool{}
	for _, item := range stored.Items {
		obj, err := item.Decode()
		if err != nil {
			return "", err
		}
		if u, ok := obj.(object); ok {
			namespaces[u.GetNamespace()] = true
		}
	}
	for ns := range namespaces {
		if _, err := store.DeleteCollection(request.WithNamespace(ctx, ns), rest.DeleteCollectionRequest{}); err != nil {
			return "", err
		}
	}
	return stored.ResourceVersion, nil
}

// waitForNone returns when there is no object any more.
func waitForNone(ctx context.Context, store *registry.Store[object], from string) error {
	w, err := store.Watch(ctx, &metainternalversion.ListOptions{ResourceVersion: from})
	if err != nil {
		return err
	}
	defer w.Stop()
	for {
		list, err := store.List(ctx, &metainternalversion.ListOptions{Limit: 1})
		if err != nil {
			return err
		}
		if stored, ok := list.(*rest.StoredList); ok && len(stored.Items) == 0 {
			return nil
		}
		if _, err := w.Next(ctx); err != nil {
			if errors.Is(err, io.EOF) {
				err = errors.New("the watch for the last objects ended")
			}
			return err
		}
	}
}
