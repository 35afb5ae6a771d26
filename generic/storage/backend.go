package storage

// KeyValue is one revision of one key, after any decryption.
type KeyValue struct {
	Key      string
	Value    []byte
	Revision int64 // modification revision
	// Stale reports that the same value would be stored differently today, under
	// another encryption key: an update is written even if it changes nothing.
	Stale bool
	// Err is why the value of a ranged key cannot be decrypted, a *TransformError;
	// there is no Value then.
	Err error
}

// RangeOptions selects keys of a Range.
type RangeOptions struct {
	Prefix    string
	After     string // exclusive start key, for continuing; empty for the beginning
	Limit     int64  // 0 for all
	Revision  int64  // 0 for the current one
	CountOnly bool
}

// RangeResult is a page of keys at one revision.
type RangeResult struct {
	Items    []KeyValue
	Count    int64 // all keys in the range from After on, beyond Limit too
	Revision int64 // the store's revision that the answer reflects
	More     bool
}

// Change is one event of the backend's watch.
type Change struct {
	Key      string
	Value    []byte // nil for a deletion
	Previous []byte // the value before, nil for a creation or when it was compacted away
	PrevRev  int64  // revision of Previous, 0 if none
	Revision int64  // revision of this change
}

// Deleted reports whether the key was removed.
func (c *Change) Deleted() bool { return c.Value == nil }
