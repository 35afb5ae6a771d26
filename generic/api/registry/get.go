package registry

import (
	"context"
	"errors"
	"fmt"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage"
)

// Get serves get. The result is a rest.Stored.
func (s *Store[T]) Get(ctx context.Context, r rest.GetRequest) (runtime.Object, error) {
	key, err := s.requestKey(ctx, r.Name)
	if err != nil {
		return nil, err
	}
	version := ""
	if r.Options != nil {
		version = r.Options.ResourceVersion
	}
	record, err := s.get(ctx, key, r.Name, version)
	if err != nil {
		return nil, err
	}
	return s.stored(record), nil
}

// get reads the record of a key, not older than a resource version.
func (s *Store[T]) get(ctx context.Context, key, name, resourceVersion string) (*storage.Record, error) {
	fresh, err := freshness(resourceVersion, storage.NotOlderThan)
	if err != nil {
		if s.options.Uncached {
			err = badVersion(err)
		}
		return nil, err
	}
	r, err := s.cache.Get(ctx, key, fresh)
	if errors.Is(err, storage.ErrNotFound) {
		return nil, s.notFound(ctx, name)
	}
	return r, s.readError(err)
}

// freshness reads a resource version: none is consistent, "0" takes anything,
// others mean what match says.
func freshness(resourceVersion string, match storage.Match) (storage.Freshness, error) {
	switch resourceVersion {
	case "":
		return storage.Freshness{Match: storage.Consistent}, nil
	case "0":
		return storage.Freshness{Match: storage.Any}, nil
	}
	revision, err := parseVersion(resourceVersion)
	if err != nil {
		return storage.Freshness{}, err
	}
	if revision == 0 {
		return storage.Freshness{Match: storage.Any}, nil
	}
	return storage.Freshness{Match: match, Revision: revision}, nil
}

func parseVersion(resourceVersion string) (int64, error) {
	v, err := strconv.ParseUint(resourceVersion, 10, 64)
	if err != nil {
		return 0, invalidVersion(resourceVersion, err)
	}
	return clampRevision(v), nil
}

// clampRevision keeps what no store will ever reach in the range of revisions.
func clampRevision(v uint64) int64 {
	const most = 1<<63 - 1
	if v > most {
		return most
	}
	return int64(v)
}

// badVersion is how lists refuse a resource version.
func badVersion(err error) error {
	return apierrors.NewBadRequest(fmt.Sprintf("invalid resource version: %v", err))
}

// invalidVersion has no reason of the API, as with kube-apiserver.
func invalidVersion(resourceVersion string, err error) error {
	return field.Invalid(field.NewPath("resourceVersion"), resourceVersion, err.Error())
}
