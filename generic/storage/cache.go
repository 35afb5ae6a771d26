package storage

import (
	"time"

	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"
)

// Match defines the meaning of Revision in a read, like resourceVersionMatch in the API.
type Match uint8

const (
	// Consistent returns at least everything that was written before the request.
	Consistent Match = iota
	// Any returns the current content of the cache (resourceVersion "0").
	Any
	// NotOlderThan returns a state at or after Revision.
	NotOlderThan
	// Exact returns the state at Revision.
	Exact
)

// Freshness is the required freshness of a read.
type Freshness struct {
	Match    Match
	Revision int64
}

// ListOptions selects records of one resource.
type ListOptions struct {
	Freshness
	// Prefix restricts the list: the cache's own prefix for all records, with "NAMESPACE/" appended for a
	// namespace. Key, if set, restricts it to one record.
	Prefix string
	Key    string
	// After is the exclusive start key of a page. Limit 0 means no limit.
	After string
	Limit int64
	// Labels and Fields select records; nil selects all.
	Labels labels.Selector
	Fields fields.Selector
	Shard  *Shard
	// FieldReader, if set, reads the fields for Fields, in place of CacheConfig.Fields.
	FieldReader FieldReader
}

// List is the result of a list: records in key order at one revision.
type List struct {
	Records  []*Record
	Revision int64
	// Last is the value of After for the next page; "" if the list is complete.
	Last string
	// Remaining is the number of records after Last, or -1 if a selector makes it unknown.
	Remaining int64
}

// FieldReader reads the fields of records for one list or watch. It is not safe for concurrent use.
type FieldReader interface {
	ReadFields(r *Record) (Set, error)
}

// CacheConfig configures the cache of one resource.
type CacheConfig struct {
	// Prefix is the absolute prefix of the resource's keys, with a trailing slash: "/registry/pods/",
	// "/registry/example.com/widgets/".
	Prefix string
	// Namespaced is set if a namespace follows the prefix in each key.
	Namespaced bool
	// Labels and Fields read the values for selectors. They are called when a selector needs them, about once
	// per record, and concurrently. The fields include FieldNamespace and FieldUID.
	Labels func(*Record) (Set, error)
	Fields func(*Record) (Set, error)
	// IndexField, if set, is a field of which many watches select one value (spec.nodeName of pods). An event
	// is then only passed to the watches of its value.
	IndexField string
}

// EventType is the type of an event.
type EventType uint8

// Types of events.
const (
	Added EventType = iota
	Modified
	Deleted
	// Bookmark has a revision and no record.
	Bookmark
)

// Event is a change as a watch with selectors receives it. A record that starts to match is Added; one that no
// longer matches is Deleted.
type Event struct {
	// Record is the new state. For Deleted it is the last state, with the revision of the deletion. For a
	// Bookmark it is nil.
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
	// Revision is the revision after which the watch starts. 0 without Initial starts with synthetic Added
	// events for the current content of the cache, like resourceVersion=0.
	Revision int64
	// Initial starts with synthetic Added events for a state with Freshness (sendInitialEvents=true). A
	// Bookmark ends them if Bookmarks is set.
	Initial   bool
	Freshness Freshness
	Bookmarks bool
	// Deadline, if set, is when the client's watch ends. A last bookmark is sent shortly before.
	Deadline time.Time
	Labels   labels.Selector
	Fields   fields.Selector
	Shard    *Shard
	// FieldReader, if set, reads the fields for Fields, in place of CacheConfig.Fields.
	FieldReader FieldReader
}
