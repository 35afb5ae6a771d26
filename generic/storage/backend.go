package storage

// KeyValue is one revision of one key, with its decrypted value.
type KeyValue struct {
	Key      string
	Value    []byte
	Revision int64 // modification revision
	// Stale is set if the value would be encrypted with another key today. An update then writes it even if
	// nothing changes.
	Stale bool
	// Err is set if a value in a Range cannot be decrypted; it is a *TransformError. Value is then nil.
	Err error
}

// RangeOptions selects keys of a Range.
type RangeOptions struct {
	Prefix    string
	After     string // exclusive start key of a page; "" starts at the beginning
	Limit     int64  // 0 for all
	Revision  int64  // 0 for the current one
	CountOnly bool
}

// RangeResult is a page of keys at one revision.
type RangeResult struct {
	Items    []KeyValue
	Count    int64 // number of keys after After, without Limit
	Revision int64 // revision of the store that the result reflects
	More     bool
}

// Change is one event of the backend's watch.
type Change struct {
	Key      string
	Value    []byte // nil for a deletion
	Previous []byte // previous value; nil for a creation, or if it has been compacted
	PrevRev  int64  // revision of Previous, 0 if none
	Revision int64  // revision of this change
}

// Deleted reports whether the key was deleted.
func (c *Change) Deleted() bool { return c.Value == nil }
