package cache

import (
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"triplane/generic/storage"
)

// filter is what a list or watch selects by; nil selects everything.
type filter struct {
	labels     labels.Selector
	fields     fields.Selector
	attributes func(*storage.Record) (storage.Attributes, error)
}

func (c *Cache) filter(l labels.Selector, f fields.Selector) *filter {
	if l != nil && l.Empty() {
		l = nil
	}
	if f != nil && f.Empty() {
		f = nil
	}
	if l == nil && f == nil {
		return nil
	}
	return &filter{labels: l, fields: f, attributes: c.cfg.Attributes}
}

// matches reports whether a record is selected. One that cannot be decoded is not.
func (f *filter) matches(r *storage.Record) bool {
	if f == nil {
		return true
	}
	a, err := r.Attributes(f.attributes)
	if err != nil {
		return false
	}
	return (f.labels == nil || f.labels.Matches(a.Labels)) && (f.fields == nil || f.fields.Matches(a.Fields))
}
