package fieldmanager

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"
	"unicode"
	"unicode/utf8"

	"k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/storage/object"
	"triplane.dev/internal/quantity"
)

// Options are the parameters of New.
type Options struct {
	// Kind is the kind as served, Hub the version of objects behind the
	// handlers.
	Kind schema.GroupVersionKind
	Hub  schema.GroupVersion
	// Codecs finds the codec of every version that managed fields may name.
	Codecs      func(gv schema.GroupVersion) (rest.Codec, error)
	Types       library.TypeConverter
	Subresource string
	ResetFields rest.ResetFields
	// Custom is for custom resources, whose schema may leave fields open.
	Custom bool
}

// New returns the manager of the managed fields of a kind in one version.
func New(o Options) (*managedfields.Manager, error) {
	c := &converter{kind: o.Kind, hub: o.Hub, codecs: o.Codecs}
	reset := make(map[fieldpath.APIVersion]fieldpath.Filter, len(o.ResetFields))
	for gv, set := range o.ResetFields {
		reset[fieldpath.APIVersion(gv.String())] = fieldpath.NewExcludeSetFilter(set)
	}
	make := library.NewDefaultFieldManager
	if o.Custom {
		make = library.NewDefaultCRDFieldManager
	}
	of := func(types library.TypeConverter) (*library.FieldManager, error) {
		return make(types, c, c, c, o.Kind, o.Hub, o.Subresource, reset)
	}
	fm, err := of(o.Types)
	if err != nil {
		return nil, err
	}
	codec, err := o.Codecs(o.Kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	return managedfields.New(managedfields.Options{
		Library: fm, LibraryOf: of, Types: o.Types, Kind: o.Kind, Subresource: o.Subresource,
		Reset: o.ResetFields[o.Kind.GroupVersion()], New: codec.New,
		Created: func(document runtime.Object) (runtime.Object, error) {
			obj, err := c.ConvertToVersion(document, o.Kind.GroupVersion())
			if err != nil {
				return nil, err
			}
			c.Default(obj)
			return c.ConvertToVersion(obj, o.Hub)
		},
	}), nil
}

// converter moves objects between the versions of a kind, for managed fields. It
// never changes the objects that it is given.
type converter struct {
	kind   schema.GroupVersionKind
	hub    schema.GroupVersion
	codecs func(gv schema.GroupVersion) (rest.Codec, error)
}

// unpruned is a codec whose FromHub drops fields that its version does not have. The version of the request has the
// stored object without them, as reads do. Versions of owners have them: a change of a field that an owner's version
// does not have cannot be tracked.
type unpruned interface {
	FromHubUnpruned(obj runtime.Object) (runtime.Object, error)
}

func (c *converter) codec(gv schema.GroupVersion) (rest.Codec, error) {
	codec, err := c.codecs(gv)
	if err != nil {
		return nil, runtime.NewNotRegisteredErrForKind("triplane", gv.WithKind(c.kind.Kind))
	}
	return codec, nil
}

// New implements runtime.ObjectCreater.
func (c *converter) New(kind schema.GroupVersionKind) (runtime.Object, error) {
	codec, err := c.codec(kind.GroupVersion())
	if err != nil {
		return nil, err
	}
	obj := codec.New()
	obj.GetObjectKind().SetGroupVersionKind(codec.Kind())
	return obj, nil
}

// Default implements runtime.ObjectDefaulter.
func (c *converter) Default(obj runtime.Object) {
	if codec, err := c.codecs(c.kind.GroupVersion()); err == nil {
		codec.Default(obj)
	}
}

// Convert implements runtime.ObjectConvertor; nothing here needs it.
func (c *converter) Convert(in, out, _ any) error {
	return fmt.Errorf("cannot convert %T into %T", in, out)
}

// ConvertFieldLabel implements runtime.ObjectConvertor; nothing here needs it.
func (c *converter) ConvertFieldLabel(_ schema.GroupVersionKind, label, value string) (string, string, error) {
	return label, value, nil
}

// ConvertToVersion implements runtime.ObjectConvertor.
func (c *converter) ConvertToVersion(in runtime.Object, target runtime.GroupVersioner) (runtime.Object, error) {
	gv, ok := target.(schema.GroupVersion)
	if !ok {
		return nil, fmt.Errorf("cannot convert to %v", target)
	}
	to, err := c.codec(gv)
	if err != nil {
		if gv == c.hub {
			// The hub need not be served itself.
			return c.toHub(in)
		}
		return nil, err
	}
	in, err = c.typed(in, to)
	if err != nil {
		return nil, err
	}
	if c.is(in, to) {
		return object.ViewOf(in).WithKind(in, to.Kind()), nil
	}
	hub, err := c.toHub(in)
	if err != nil {
		return nil, err
	}
	convert := to.FromHub
	if whole, ok := to.(unpruned); ok && gv != c.kind.GroupVersion() {
		convert = whole.FromHubUnpruned
	}
	out, err := convert(hub)
	if err != nil {
		return nil, err
	}
	return object.ViewOf(out).WithKind(out, to.Kind()), nil
}

// is reports whether an object is of the codec's version, whatever kind a tree
// names.
func (c *converter) is(obj runtime.Object, codec rest.Codec) bool {
	kind := codec.Kind().GroupVersion().WithKind(obj.GetObjectKind().GroupVersionKind().Kind)
	return object.ViewOf(obj).Is(obj, kind, reflect.TypeOf(codec.New()))
}

func (c *converter) toHub(in runtime.Object) (runtime.Object, error) {
	from := in.GetObjectKind().GroupVersionKind().GroupVersion()
	if from.Version == "" || from == c.hub {
		return in, nil
	}
	codec, err := c.codec(from)
	if err != nil {
		return nil, err
	}
	if in, err = c.typed(in, codec); err != nil {
		return nil, err
	}
	if !c.is(in, codec) {
		return in, nil
	}
	return codec.ToHub(in)
}

// typed turns the unstructured objects that come out of merges into the kind's
// Go type, where it has one.
func (c *converter) typed(in runtime.Object, to rest.Codec) (runtime.Object, error) {
	u, ok := in.(runtime.Unstructured)
	if !ok {
		return in, nil
	}
	kind := in.GetObjectKind().GroupVersionKind()
	codec := to
	if kind.GroupVersion() != to.Kind().GroupVersion() {
		var err error
		if codec, err = c.codec(kind.GroupVersion()); err != nil {
			return nil, err
		}
	}
	out := codec.New()
	if !object.Typed(out) {
		return in, nil
	}
	if err := IntoTyped(u.UnstructuredContent(), out, false); err != nil {
		return nil, fmt.Errorf("unable to convert unstructured object to %v: %w", kind, err)
	}
	out.GetObjectKind().SetGroupVersionKind(kind)
	return out, nil
}

// IntoTyped fills in a Go type. Of quantities it is known before whether they can be read.
func IntoTyped(tree map[string]any, out runtime.Object, strict bool) error {
	if quantity.InTree(tree) {
		doc, err := json.Marshal(tree)
		if err == nil {
			err = quantity.Check(doc, reflect.TypeOf(out))
		}
		if err != nil {
			return err
		}
	}
	return runtime.DefaultUnstructuredConverter.FromUnstructuredWithValidation(tree, out, strict)
}

// ManagerName returns the name of the manager of a write: the fieldManager of its options, by default the first
// part of the user agent.
func ManagerName(fieldManager, userAgent string) string {
	if fieldManager != "" {
		return fieldManager
	}
	prefix, _, _ := strings.Cut(userAgent, "/")
	var b strings.Builder
	for _, r := range prefix {
		if r == utf8.RuneError || !unicode.IsPrint(r) {
			continue
		}
		if b.Len()+utf8.RuneLen(r) > validation.FieldManagerMaxLength {
			break
		}
		b.WriteRune(r)
	}
	return b.String()
}

// Write is a write whose managed fields Record computes.
type Write struct {
	// Live is the stored object, or an empty one for a creation.
	Live runtime.Object
	// Object is the written object in the hub version, Sent the same before its conversion.
	Object, Sent runtime.Object
	// Manager is the name of the writer, as ManagerName returns it.
	Manager string
}

// Record returns the written object with its managed fields. Objects without a Go type get the fields that the client
// sent: a conversion may have changed them.
func Record(ctx context.Context, fm *managedfields.Manager, w Write) runtime.Object {
	if w.Object == w.Sent || object.Typed(w.Object) {
		return fm.Update(ctx, w.Live, w.Object, w.Manager)
	}
	tracked, err := meta.Accessor(fm.Update(ctx, w.Live, w.Sent.DeepCopyObject(), w.Manager))
	if err != nil {
		return w.Object
	}
	if m, err := meta.Accessor(w.Object); err == nil {
		m.SetManagedFields(tracked.GetManagedFields())
	}
	return w.Object
}
