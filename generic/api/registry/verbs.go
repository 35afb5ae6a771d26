package registry

import (
	"slices"

	"triplane/generic/api/rest"
)

// common is what every main resource is, whatever its verbs.
type common interface {
	rest.Storage
	rest.Scoper
	rest.NameProvider
	rest.CodecProvider
	rest.ResetFieldsProvider
	rest.MayReturnFullObject
	rest.Deprecated
	rest.StorageVersioner
	rest.RowEncoder
	rest.FieldLabelConvertor
	rest.Getter
	rest.Lister
}

var _ interface {
	common
	rest.Watcher
	rest.Creater
	rest.Patcher
	rest.GracefulDeleter
	rest.CollectionDeleter
} = (*Store[Object])(nil)

// Without the verbs that a kind does not have, the other interfaces are hidden.
type (
	readOnly struct{ common }
	// watchable adds watch.
	watchable struct {
		common
		rest.Watcher
	}
	// withoutCollection has everything but deletecollection.
	withoutCollection struct {
		common
		rest.Watcher
		rest.Creater
		rest.Updater
		rest.GracefulDeleter
	}
	// withoutUpdate has neither update nor patch.
	withoutUpdate struct {
		common
		rest.Watcher
		rest.Creater
		rest.GracefulDeleter
		rest.CollectionDeleter
	}
)

// Rest returns the main resource with the verbs that the kind has.
func (s *Store[T]) Rest() rest.Storage {
	without := func(verb string) bool { return slices.Contains(s.kind.Without, verb) }
	switch {
	case without("create") && without("update") && without("delete") && without("watch"):
		return readOnly{s}
	case without("create") && without("update") && without("delete"):
		return watchable{s, s}
	case without("update"):
		return withoutUpdate{s, s, s, s, s}
	case without("deletecollection"):
		return withoutCollection{s, s, s, s, s}
	}
	return s
}
