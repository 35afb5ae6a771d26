package registry

import (
	"context"
	"errors"
	"fmt"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metainternalversion "k8s.io/apimachinery/pkg/apis/meta/internalversion"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/shard"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/storage"
)

const (
	continueExpired = "The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without the continue parameter."
	continueInconsistent = "The provided continue parameter is too old " +
		"to display a consistent list result. You can start a new list without the continue parameter, or use the continue token in this response " +
		"to retrieve the remainder of the results. Continuing with the provided token results in an inconsistent list - objects that were created, modified, or deleted between the time the first chunk was returned and now may show up in the list."
)

// List serves list. The result is a *rest.StoredList.
func (s *Store[T]) List(ctx context.Context, opts *metainternalversion.ListOptions) (runtime.Object, error) {
	list, err := s.list(ctx, opts)
	if err != nil {
		return nil, err
	}
	return list, nil
}

func (s *Store[T]) list(ctx context.Context, opts *metainternalversion.ListOptions) (*rest.StoredList, error) {
	if opts == nil {
		opts = &metainternalversion.ListOptions{}
	}
	o, err := s.listOptions(ctx, opts)
	if err != nil {
		return nil, err
	}
	shard, said, err := shard.Of(opts)
	if err != nil {
		return nil, err
	}
	o.Shard = shard
	reader := s.fieldReader(ctx, o.Fields)
	if reader != nil {
		o.FieldReader = reader
	}
	l, err := s.cache.List(ctx, o)
	if err == nil && reader != nil {
		err = reader.err
	}
	if err != nil {
		return nil, s.listError(err, o, opts.Continue != "")
	}
	list, err := s.storedList(l, o.Prefix)
	if said != "" && err == nil {
		list.Shard = &metav1.ShardInfo{Selector: said}
	}
	return list, err
}

// storedList wraps the records of a list.
func (s *Store[T]) storedList(l storage.List, prefix string) (*rest.StoredList, error) {
	out := &rest.StoredList{
		Items:           make([]rest.Stored, len(l.Records)),
		Kind:            s.kind.Hub.GroupVersion().WithKind(s.kind.Hub.Kind + "List"),
		ResourceVersion: storage.FormatRevision(l.Revision),
		Kept:            s.keptForms,
	}
	items := make([]stored[T], len(l.Records))
	kept := s.keptItems(l.Records)
	for i, r := range l.Records {
		items[i] = stored[T]{s, r, i >= kept}
		out.Items[i] = &items[i]
	}
	if l.Last == "" {
		return out, nil
	}
	if l.Remaining >= 0 {
		remaining := l.Remaining
		out.RemainingItemCount = &remaining
	}
	var err error
	out.Continue, err = storage.EncodeContinue(l.Last, s.tokenRoot(prefix), l.Revision)
	return out, err
}

// keptItems is how many items of a list keep what is encoded for it: at most half of the budget, because the forms of
// a large list would evict those that are used more often.
func (s *Store[T]) keptItems(records []*storage.Record) int {
	most, size := s.options.Budget.Limit()/2, estimate(records)
	if size <= most {
		return len(records)
	}
	return int(most * int64(len(records)) / size)
}

// estimate is about how many bytes records have, from a sample of them.
func estimate(records []*storage.Record) int64 {
	const sample = 64
	var size, n int64
	for i := 0; i < len(records); i += 1 + len(records)/sample {
		size, n = size+int64(records[i].Size()), n+1
	}
	return size * int64(len(records)) / max(1, n)
}

// listOptions reads the options of a list.
func (s *Store[T]) listOptions(ctx context.Context,
	opts *metainternalversion.ListOptions) (storage.ListOptions, error) {
	o := storage.ListOptions{Prefix: s.listPrefix(ctx), Limit: opts.Limit}
	o.Key, o.Labels, o.Fields = s.selection(ctx, opts)
	if opts.Continue != "" {
		return continued(o, opts, s.options.Uncached)
	}
	match := storage.NotOlderThan
	var err error
	switch {
	case opts.ResourceVersionMatch == metav1.ResourceVersionMatchExact:
		match = storage.Exact
	case opts.ResourceVersionMatch == "" && opts.Limit > 0:
		// What clients of old expect who ask for a page and a version.
		match = storage.Exact
	}
	if o.Freshness, err = freshness(opts.ResourceVersion, match); err != nil {
		return o, badVersion(err)
	}
	if o.Match == storage.Any && o.Limit > 0 && s.options.Uncached {
		o.Match = storage.Consistent
	}
	if o.Match == storage.Any && opts.ResourceVersion == "0" || o.Limit < 0 {
		// Whoever takes anything takes all at once.
		o.Limit = 0
	}
	return o, nil
}

// continued sets where a list continues.
func continued(o storage.ListOptions, opts *metainternalversion.ListOptions,
	uncached bool) (storage.ListOptions, error) {
	after, revision, err := storage.DecodeContinue(opts.Continue, o.Prefix)
	if err != nil {
		return o, apierrors.NewBadRequest(fmt.Sprintf("invalid continue token: %v", err))
	}
	if opts.ResourceVersion != "" && opts.ResourceVersion != "0" {
		return o, apierrors.NewBadRequest("specifying resource version is not allowed when using continue")
	}
	o.After = after
	if revision != storage.AnyRevision {
		o.Freshness = storage.Freshness{Match: storage.Exact, Revision: revision}
	}
	// The rest of a list that may be of any version comes at once, as the whole does.
	if o.Limit < 0 || revision == storage.AnyRevision && opts.ResourceVersion == "0" && !uncached {
		o.Limit = 0
	}
	return o, nil
}

// listError returns the error for a client whose page is gone, with how to go on.
func (s *Store[T]) listError(err error, o storage.ListOptions, paged bool) error {
	if !paged || !errors.Is(err, storage.ErrCompacted) {
		return s.readError(err)
	}
	token, tokenErr := storage.EncodeContinue(o.After, o.Prefix, storage.AnyRevision)
	if tokenErr != nil {
		return apierrors.NewResourceExpired(continueExpired)
	}
	expired := apierrors.NewResourceExpired(continueInconsistent)
	expired.ErrStatus.Continue = token
	return expired
}

// tokenRoot is what keys in continue tokens are below, in a list of the keys below prefix:
// their slash distinguishes lists of a cache from lists of storage.
func (s *Store[T]) tokenRoot(prefix string) string {
	if s.options.Uncached {
		return prefix
	}
	return strings.TrimSuffix(prefix, "/")
}

// listPrefix is below which keys the request's namespace is.
func (s *Store[T]) listPrefix(ctx context.Context) string {
	if ns := request.NamespaceFrom(ctx); s.kind.Namespaced && ns != "" {
		return s.prefix + ns + "/"
	}
	return s.prefix
}

// selection reads the selectors, whose fields are the hub version's. Where they can match one name alone, key is its
// key.
func (s *Store[T]) selection(ctx context.Context,
	opts *metainternalversion.ListOptions) (key string, l labels.Selector, f fields.Selector) {
	if opts.LabelSelector != nil && !opts.LabelSelector.Empty() {
		l = opts.LabelSelector
	}
	if opts.FieldSelector == nil || opts.FieldSelector.Empty() {
		return "", l, nil
	}
	f = opts.FieldSelector
	if name, ok := f.RequiresExactMatch("metadata.name"); ok && !s.options.SharedNames {
		ns := request.NamespaceFrom(ctx)
		if ns == "" && s.kind.Namespaced {
			ns, _ = f.RequiresExactMatch("metadata.namespace")
		}
		var err error
		if key, err = s.key(ns, name); err != nil {
			key = "" // no object has such a name, which the selector finds out
		}
	}
	return key, l, f
}
