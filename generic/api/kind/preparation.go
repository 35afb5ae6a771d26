package kind

import (
	"context"
	"fmt"
	"reflect"
	"strings"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/object"
)

// StatusWrites says which writes of the main resource set the status of a kind that has the subresource "status".
type StatusWrites uint8

const (
	// StatusBySubresource drops the status at creation and preserves it in updates.
	StatusBySubresource StatusWrites = iota
	// StatusOnCreate stores the status of new objects, and preserves it in updates.
	StatusOnCreate
	// StatusAlways stores the status as the client sends it.
	StatusAlways
)

// PreservedMetadata is the part of the metadata that an endpoint preserves.
type PreservedMetadata uint8

const (
	// NoMetadata preserves only what no update may change.
	NoMetadata PreservedMetadata = iota
	// ClientMetadata preserves labels, annotations, owner references, finalizers and the time of deletion.
	ClientMetadata
	// WholeMetadata preserves everything but the managed fields and the resource version.
	WholeMetadata
)

// plan is what an endpoint does to the parts of an object, with the fields found in the Go type. A nil plan does
// nothing.
type plan[T Object] struct {
	drop      []int   // of new objects; nil drops nothing
	preserves [][]int // of the object that an update replaces
	metadata  PreservedMetadata
	first     int64                 // generation of new objects, 0 leaves that which the client sends
	changed   func(obj, old T) bool // nil does not count the generation
	reset     []string
	immutable []immutable // of the main resource
}

// plans finds in T what the declaration names. c is a copy of the declaration; its subresources are replaced by copies.
func (c *Kind[T]) plans() error {
	object := reflect.TypeFor[T]()
	w := &c.Write
	if object.Kind() != reflect.Pointer || object == reflect.TypeFor[*unstructured.Unstructured]() {
		if w.CountsGeneration || w.Changed != nil || c.Status.names() ||
			len(w.Preserves)+len(w.Immutable)+len(w.Fixed) > 0 {
			return fmt.Errorf("registry: kind %s has no Go type whose fields its declaration can name", c.Hub)
		}
		return nil
	}
	t := object.Elem()
	main := plan[T]{changed: w.Changed}
	preserves := w.Preserves
	if c.Status != nil && w.Status != StatusAlways {
		preserves = append([]string{"status"}, preserves...)
	}
	if c.Status != nil && w.Status == StatusBySubresource {
		main.drop = fieldIndex(t, "status")
	}
	if w.CountsGeneration {
		main.first = 1
	}
	if err := c.fill(&main, w.CountsGeneration, preserves, w.Resets); err != nil {
		return err
	}
	c.plan = &main
	var err error
	if main.immutable, err = immutables(t, c.Hub, w.Immutable, w.Fixed); err != nil {
		return err
	}
	if c.Select.Fields, err = completeFields(c.Select.Fields, c.Hub); err != nil {
		return err
	}
	if c.Status != nil {
		// A status is nothing without a spec in some kinds, which preserve nothing then.
		preserves := []string{"spec"}
		if fieldIndex(t, "spec") == nil {
			preserves = nil
		}
		if c.Status, err = c.planned(c.Status, preserves); err != nil {
			return err
		}
	}
	subs := make(map[string]*Subresource[T], len(c.Subresources))
	for name, sub := range c.Subresources {
		if subs[name], err = c.planned(sub, nil); err != nil {
			return err
		}
	}
	c.Subresources = subs
	return nil
}

// names reports whether the declaration names parts of objects. They are found in the subresources of a kind only.
func (sub *Subresource[T]) names() bool {
	return sub != nil && (len(sub.Preserves) > 0 || sub.Metadata != NoMetadata || sub.CountsGeneration)
}

// planned returns a copy of a subresource with its plan, which preserves some fields whatever the declaration says.
func (c *Kind[T]) planned(declared *Subresource[T], preserves []string) (*Subresource[T], error) {
	sub := *declared
	sub.plan = &plan[T]{metadata: sub.Metadata}
	return &sub, c.fill(sub.plan, sub.CountsGeneration, append(preserves, sub.Preserves...), sub.Resets)
}

// fill completes a plan. The fields that it preserves are reset fields.
func (c *Kind[T]) fill(p *plan[T], counts bool, preserves, resets []string) error {
	t := reflect.TypeFor[T]().Elem()
	for _, path := range preserves {
		index := fieldIndex(t, path)
		if index == nil {
			return fmt.Errorf("registry: kind %s has no field %s", c.Hub, path)
		}
		p.preserves = append(p.preserves, index)
	}
	p.reset = append(append(p.reset, preserves...), resets...)
	if p.metadata != NoMetadata {
		p.reset = append(p.reset, "metadata")
	}
	if !counts || p.changed != nil {
		return nil
	}
	spec := fieldIndex(t, "spec")
	if spec == nil {
		return fmt.Errorf("registry: kind %s has no spec whose changes its generation can count", c.Hub)
	}
	p.changed = func(obj, old T) bool {
		now, before := reflect.ValueOf(obj).Elem().FieldByIndex(spec), reflect.ValueOf(old).Elem().FieldByIndex(spec)
		return !object.Equal(now.Addr().Interface(), before.Addr().Interface())
	}
	return nil
}

// begin drops what a new object may not have, or copies from old what an update does not write.
func (p *plan[T]) begin(obj, old T) {
	switch {
	case p == nil:
	case isNew(old):
		p.create(obj)
	default:
		p.preserve(obj, old)
	}
}

func (p *plan[T]) create(obj T) {
	if p.drop != nil {
		reflect.ValueOf(obj).Elem().FieldByIndex(p.drop).SetZero()
	}
	if p.first != 0 {
		obj.SetGeneration(p.first)
	}
}

func (p *plan[T]) preserve(obj, old T) {
	if len(p.preserves) > 0 {
		to, from := reflect.ValueOf(obj).Elem(), reflect.ValueOf(old).Elem()
		for _, index := range p.preserves {
			to.FieldByIndex(index).Set(from.FieldByIndex(index))
		}
	}
	switch p.metadata {
	case NoMetadata:
		return
	case WholeMetadata:
		obj.SetUID(old.GetUID())
		obj.SetGenerateName(old.GetGenerateName())
		obj.SetDeletionGracePeriodSeconds(old.GetDeletionGracePeriodSeconds())
	case ClientMetadata:
	}
	preserveClientMetadata(obj, old)
}

func preserveClientMetadata(obj, old metav1.Object) {
	obj.SetDeletionTimestamp(old.GetDeletionTimestamp())
	obj.SetLabels(old.GetLabels())
	obj.SetAnnotations(old.GetAnnotations())
	obj.SetOwnerReferences(old.GetOwnerReferences())
	obj.SetFinalizers(old.GetFinalizers())
}

// count raises the generation where the update changes what it counts.
func (p *plan[T]) count(obj, old T) {
	if p != nil && p.changed != nil && !isNew(old) && p.changed(obj, old) {
		obj.SetGeneration(old.GetGeneration() + 1)
	}
}

// Prepares reports whether a write by the rules of sub, nil for those of the main resource, changes what the client
// sent. It fails for a subresource that preserves fields without being one of the completed declaration.
func (k *Kind[T]) Prepares(sub *Subresource[T]) (bool, error) {
	if sub == nil {
		return k.plan != nil || k.Write.Prepare != nil, nil
	}
	if sub.plan == nil && sub.names() {
		return false, fmt.Errorf("registry: a subresource of %s preserves fields, but is not one of its declaration", k.Hub)
	}
	return sub.plan != nil || sub.Prepare != nil, nil
}

// Prepare makes an object ready for validation, by the rules of sub, nil for those of the main resource. old is nil for
// a new object; an object that replaces old has its generation already. The declaration is a completed one.
func (k *Kind[T]) Prepare(ctx context.Context, sub *Subresource[T], obj, old T) {
	p, declared := k.plan, k.Write.Prepare
	if sub != nil {
		p, declared = sub.plan, sub.Prepare
	}
	p.begin(obj, old)
	if declared != nil {
		declared(ctx, obj, old)
	}
	p.count(obj, old)
}

// AtCreation makes a Write.Prepare of a function that prepares new objects.
func AtCreation[T Object](prepare func(ctx context.Context, obj T)) func(ctx context.Context, obj, old T) {
	return func(ctx context.Context, obj, old T) {
		if isNew(old) {
			prepare(ctx, obj)
		}
	}
}

// ResetFieldsIn returns the declared reset fields or, without any, what updates preserve and Resets name, in each of
// the versions. sub is nil for the main resource.
func (k *Kind[T]) ResetFieldsIn(versions []VersionCodec, sub *Subresource[T]) rest.ResetFields {
	declared, p := k.Write.ResetFields, k.plan
	if sub != nil {
		declared, p = sub.ResetFields, sub.plan
	}
	if declared != nil || p == nil || len(p.reset) == 0 {
		return declared
	}
	set := fieldpath.NewSet()
	for _, f := range p.reset {
		var path fieldpath.Path
		for name := range strings.SplitSeq(f, ".") {
			path = append(path, fieldpath.PathElement{FieldName: &name})
		}
		set.Insert(path)
	}
	out := rest.ResetFields{}
	for i := range versions {
		out[versions[i].GV] = set
	}
	return out
}
