package storage

import (
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Match says how the Revision of a read is meant, as resourceVersion and
// resourceVersionMatch do in the API.
type Match uint8

const (
	// Consistent reads what was written before the request began.
	Consistent Match = iota
	// Any takes whatever is at hand ("0").
	Any
	// NotOlderThan takes anything at or after Revision.
	NotOlderThan
	// Exact takes the state at Revision.
	Exact
)

// Freshness is how new a read's answer has to be.
type Freshness struct {
	Match    Match
	Revision int64
}

// ListOptions selects records of one resource.
type ListOptions struct {
	Freshness
	// Prefix narrows the list: the cache's own prefix for everything, that plus
	// "NAMESPACE/" for a namespace. Key, when set, narrows it to one record.
	Prefix string
	Key    string
	// After continues behind this key (exclusive); Limit of 0 means all.
	After string
	Limit int64
	// Nil selectors select everything.
	Labels labels.Selector
	Fields fields.Selector
	Shard  *Shard
	// FieldReader, where set, reads what Fields selects by instead of CacheConfig.Fields.
	FieldReader FieldReader
}

// List is the answer to a list: records in key order at one revision.
type List struct {
	Records  []*Record
	Revision int64
	// Last is the key to continue After; empty when the list is complete.
	Last string
	// Remaining counts what is left behind Last; -1 where a selector makes it
	// unknown.
	Remaining int64
}

// FieldReader reads the fields of records for one list or watch. It is used by one goroutine.
type FieldReader interface {
	ReadFields(r *Record) (Set, error)
}

// CacheConfig describes the cache of one resource.
type CacheConfig struct {
	// Prefix is the absolute prefix of the resource's keys, with a trailing
	// slash: "/registry/pods/", "/registry/example.com/widgets/".
	Prefix string
	// Namespaced says that a namespace follows the prefix in each key.
	Namespaced bool
	// Labels and Fields read what selectors look at. Each is called only when a
	// selector of its sort is used, at most about once a record, and concurrently.
	// FieldNamespace and FieldUID are among the fields, too.
	Labels func(*Record) (Set, error)
	Fields func(*Record) (Set, error)
	// IndexField, if set, is a field that many watches select one value of
	// (spec.nodeName of pods): an event then concerns only the watches of its
	// value.
	IndexField string
}

// EventType says what happened to an object from a watcher's point of view.
type EventType uint8

// The types of events.
const (
	Added EventType = iota
	Modified
	Deleted
	// Bookmark carries no record, only a revision.
	Bookmark
)

// Event is one change as a watcher sees it: a record whose labels start to
// match its selector is Added, one whose labels cease to match is Deleted.
type Event struct {
	// Record is the new state; for Deleted the last state, whose Revision is
	// that of the deletion. Nil for a Bookmark.
	Record   *Record
	Revision int64
	Type     EventType
	// InitialEventsEnd marks the Bookmark that ends the initial events.
	InitialEventsEnd bool
}

// WatchOptions selects the events of a watch.
type WatchOptions struct {
	Prefix string
	Key    string
	// Revision is where to start after. 0 with Initial false starts with
	// synthetic Added events of any state at hand, as "resourceVersion=0" does.
	Revision int64
	// Initial asks for the present state first (sendInitialEvents=true), not
	// older than Freshness says, ended by a Bookmark if Bookmarks is set.
	Initial   bool
	Freshness Freshness
	Bookmarks bool
	// Deadline, if set, is when the client's watch will end: a last bookmark is
	// sent shortly before.
	Deadline time.Time
	Labels   labels.Selector
	Fields   fields.Selector
	Shard    *Shard
	// FieldReader, where set, reads what Fields selects by instead of CacheConfig.Fields.
	FieldReader FieldReader
}
