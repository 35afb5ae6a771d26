package policy

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"slices"
	"strconv"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	kjson "sigs.k8s.io/json"
	"sigs.k8s.io/structured-merge-diff/v6/schema"
	"sigs.k8s.io/structured-merge-diff/v6/typed"
	"sigs.k8s.io/structured-merge-diff/v6/value"

	"github.com/google/cel-go/common/types/ref"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
	"triplane.dev/generic/storage/jsonpatch"
	"triplane.dev/generic/storage/object"
)

// apply evaluates a mutation and applies it to the object. It reports whether the object changed.
func (m *mutation) apply(ctx context.Context, e *expression.Evaluation, v *expression.Values) (bool, error) {
	out, err := e.Evaluate(ctx, m.Expression)
	if err != nil {
		return false, err
	}
	if m.jsonPatch {
		return applyJSONPatch(ctx, out, v)
	}
	changed, err := applyConfiguration(out, v)
	var status *apierrors.StatusError
	if err != nil && !errors.As(err, &status) {
		err = fmt.Errorf("error applying patch: %w", err)
	}
	return changed, err
}

// operation is one step of a JSON patch.
type operation struct {
	Op    string           `json:"op"`
	Path  string           `json:"path"`
	From  string           `json:"from,omitempty"`
	Value *json.RawMessage `json:"value,omitempty"`
}

func applyJSONPatch(ctx context.Context, out ref.Val, v *expression.Values) (bool, error) {
	native, err := expression.Native(out)
	if err != nil {
		return false, err
	}
	steps, _ := native.([]any)
	if len(steps) == 0 {
		return false, nil
	}
	patch, err := toPatch(steps)
	if err != nil {
		return false, err
	}
	obj, err := v.Object()
	if err != nil {
		return false, err
	}
	before, err := admission.Document(obj, v.Kind())
	if err != nil {
		return false, err
	}
	after, err := patch.Apply(ctx, before)
	if errors.Is(err, jsonpatch.ErrTestFailed) {
		return false, nil // a failed test step skips the patch; it is not an error
	}
	if err != nil {
		return false, fmt.Errorf("JSON Patch: %w", err)
	}
	codec, err := v.Attributes.ConverterOf(v.Codec, before, after)
	if err != nil {
		return false, apierrors.NewInternalError(fmt.Errorf("JSON Patch: %w", err))
	}
	if err := unknownFields(codec.New(), after); err != nil {
		return false, apierrors.NewInternalError(err)
	}
	changed, err := v.Attributes.Become(codec, obj, after)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return changed, nil
}

// unknownFields returns an error for fields of a document that the Go type of a kind does not have.
// Custom resources, which have none, are pruned.
func unknownFields(empty runtime.Object, document []byte) error {
	if !object.Typed(empty) {
		return nil
	}
	strict, err := kjson.UnmarshalStrict(document, empty)
	if err != nil || len(strict) == 0 {
		return err
	}
	return runtime.NewStrictDecodingError(strict)
}

func toPatch(steps []any) (jsonpatch.Patch, error) {
	ops := make([]operation, len(steps))
	for i, s := range steps {
		fields, _ := s.(map[string]any)
		o := &ops[i]
		o.Op, _ = fields["op"].(string)
		o.Path, _ = fields["path"].(string)
		o.From, _ = fields["from"].(string)
		if value, ok := fields["value"]; ok {
			text, err := json.Marshal(value)
			if err != nil {
				return jsonpatch.Patch{}, err
			}
			o.Value = (*json.RawMessage)(&text)
		}
	}
	text, err := json.Marshal(ops)
	if err != nil {
		return jsonpatch.Patch{}, err
	}
	return jsonpatch.Decode(text)
}

// applyConfiguration merges an object like server-side apply, but removes no fields and owns none.
func applyConfiguration(out ref.Val, v *expression.Values) (bool, error) {
	native, err := expression.Native(out)
	if err != nil {
		return false, err
	}
	fields, ok := native.(map[string]any)
	if !ok {
		return false, fmt.Errorf("unexpected value of type %T", native)
	}
	if len(fields) == 0 {
		return false, nil
	}
	types, err := converter(v.Attributes)
	if err != nil {
		return false, err
	}
	obj, err := v.Object()
	if err != nil {
		return false, err
	}
	live, err := expression.Map(obj, v.Kind())
	if err != nil {
		return false, err
	}
	fields["apiVersion"], fields["kind"] = v.Kind().GroupVersion().String(), v.Kind().Kind
	merged, err := merge(types, live, fields)
	if err != nil {
		return false, err
	}
	text, err := json.Marshal(merged)
	if err != nil {
		return false, err
	}
	changed, err := v.Attributes.Become(v.Codec, obj, text)
	if err != nil {
		return false, apierrors.NewInternalError(err)
	}
	return changed, nil
}

func converter(a *admission.Attributes) (managedfields.TypeConverter, error) {
	if a.Types == nil {
		return managedfields.NewDeducedTypeConverter(), nil
	}
	types, err := a.Types()
	if types == nil && err == nil {
		types = managedfields.NewDeducedTypeConverter()
	}
	return types, err
}

func merge(types managedfields.TypeConverter, live, patch map[string]any) (runtime.Object, error) {
	change, err := types.ObjectToTyped(&unstructured.Unstructured{Object: patch})
	if err != nil {
		return nil, fmt.Errorf("failed to convert patch object to typed object: %w", err)
	}
	if place := firstAtomic(change); place != "" {
		return nil, fmt.Errorf("invalid ApplyConfiguration: may not mutate atomic arrays, maps or structs: %s", place)
	}
	before, err := types.ObjectToTyped(&unstructured.Unstructured{Object: live}, typed.AllowDuplicates)
	if err != nil {
		return nil, fmt.Errorf("failed to convert original object to typed object: %w", err)
	}
	after, err := before.Merge(change)
	if err != nil {
		return nil, fmt.Errorf("failed to merge patch: %w", err)
	}
	return types.TypedToObject(after)
}

// firstAtomic returns the path of the first atomic list, map or struct within a value, or "". An apply
// configuration cannot merge these. As at kube-apiserver, only fields that the schema names count: those that it does
// not know are replaced.
func firstAtomic(v *typed.TypedValue) string {
	return atomicBelow(v.Schema(), v.TypeRef(), v.AsValue(), "")
}

func atomicBelow(s *schema.Schema, ref schema.TypeRef, v value.Value, place string) string {
	if s == nil || v == nil || v.IsNull() {
		return ""
	}
	atom, ok := s.Resolve(ref)
	if !ok {
		return ""
	}
	switch {
	case v.IsList() && atom.List != nil:
		if atom.List.ElementRelationship == schema.Atomic {
			return place
		}
		list := v.AsList()
		for i := range list.Length() {
			if p := atomicBelow(s, atom.List.ElementType, list.At(i), place+"["+strconv.Itoa(i)+"]"); p != "" {
				return p
			}
		}
	case v.IsMap() && atom.Map != nil:
		if atom.Map.ElementRelationship == schema.Atomic {
			return place
		}
		return atomicFields(s, atom.Map, v.AsMap(), place)
	}
	return ""
}

func atomicFields(s *schema.Schema, m *schema.Map, v value.Map, place string) string {
	var names []string
	v.Iterate(func(name string, _ value.Value) bool {
		names = append(names, name)
		return true
	})
	slices.Sort(names)
	for _, name := range names {
		f, ok := m.FindField(name)
		if !ok {
			continue
		}
		child, _ := v.Get(name)
		if p := atomicBelow(s, f.Type, child, place+"."+name); p != "" {
			return p
		}
	}
	return ""
}
