package cache

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane.dev/generic/storage"
)

// filter has the selectors of a list or watch. A nil filter selects everything.
type filter struct {
	labels labels.Selector
	fields fields.Selector
	shard  *storage.Shard
	read   *storage.CacheConfig
	// reader, if set, reads the fields for this list or watch only.
	reader storage.FieldReader
}

// listFilter returns the filter of a list.
func (c *Cache) listFilter(o *storage.ListOptions) *filter {
	return c.filter(o.Labels, o.Fields, o.Shard, o.FieldReader)
}

func (c *Cache) filter(l labels.Selector, f fields.Selector, shard *storage.Shard, reader storage.FieldReader) *filter {
	if l != nil && l.Empty() {
		l = nil
	}
	if f != nil && f.Empty() {
		f = nil
	}
	if l == nil && f == nil && shard == nil {
		return nil
	}
	return &filter{labels: l, fields: f, shard: shard, read: &c.cfg.CacheConfig, reader: reader}
}

// selects reports whether a record belongs to a list. This includes records that cannot be decoded: the list
// must fail with their error.
func (f *filter) selects(r *storage.Record) bool {
	matches, err := f.match(r)
	return matches || err != nil
}

// matches reports whether a record belongs to a watch. This excludes records that cannot be decoded.
func (f *filter) matches(r *storage.Record) bool {
	matches, err := f.match(r)
	return matches && err == nil
}

func (f *filter) match(r *storage.Record) (bool, error) {
	if f == nil {
		return true, nil
	}
	if f.labels != nil {
		has, err := r.Labels(f.read.Labels)
		if err != nil || !f.labels.Matches(has) {
			return false, err
		}
	}
	if f.fields == nil && f.shard == nil {
		return true, nil
	}
	has, err := f.fieldsOf(r)
	if err != nil {
		return false, err
	}
	return (f.fields == nil || f.fields.Matches(has)) && (f.shard == nil || f.shard.Holds(has)), nil
}

// fieldsOf returns the fields of a record. The record caches them unless this filter has a reader.
func (f *filter) fieldsOf(r *storage.Record) (*storage.Set, error) {
	if f.reader == nil {
		return r.Fields(f.read.Fields)
	}
	set, err := f.reader.ReadFields(r)
	return &set, err
}
