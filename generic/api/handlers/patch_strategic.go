package handlers

import (
	"context"
	"errors"
	"fmt"
	"net/http"
	"strings"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/mergepatch"
	"k8s.io/apimachinery/pkg/util/strategicpatch"
	kjson "sigs.k8s.io/json"

	"triplane.dev/generic/api/handlers/fieldmanager"
	"triplane.dev/generic/storage/object"
)

// strategicMerge applies a strategic merge patch, which the tags of the Go type
// direct.
func (p *patch) strategicMerge(ctx context.Context, old runtime.Object) (runtime.Object, error) {
	s := p.scope
	versioned, err := s.Codec.FromHub(old)
	if err != nil {
		return nil, err
	}
	change := map[string]any{}
	var strictErrs []error
	if p.wantsStrict() {
		strictErrs, err = kjson.UnmarshalStrict(p.body, &change)
	} else {
		err = kjson.UnmarshalCaseSensitivePreserveInts(p.body, &change)
	}
	if err != nil {
		return nil, apierrors.NewBadRequest(err.Error())
	}
	reduced, complete := touched(versioned, change)
	before, err := runtime.DefaultUnstructuredConverter.ToUnstructured(object.ViewOf(reduced).WithKind(reduced, s.Kind))
	if err != nil {
		return nil, err
	}
	if err := boundMerge(before, change); err != nil {
		return nil, err
	}
	obj := s.Codec.New()
	after, err := mergeMaps(before, change, obj)
	if err != nil {
		return nil, strategicError(err)
	}
	value := func() string { return fmt.Sprintf("%+v", change) }
	if err := fieldmanager.IntoTyped(after, obj, p.wantsStrict()); err != nil {
		strict, ok := runtime.AsStrictDecodingError(err)
		if !ok {
			return nil, invalidPatch(value(), err.Error())
		}
		strictErrs = append(strictErrs, strict.Errors()...)
	}
	if len(strictErrs) > 0 {
		if err := p.strictness(value(), strictErrs); err != nil {
			return nil, err
		}
	}
	complete(obj)
	s.Codec.Default(obj)
	hub, err := s.Codec.ToHub(obj)
	if err != nil {
		return nil, err
	}
	return p.owned(ctx, old, hub), nil
}

// touched reduces an object to the top-level fields that a patch names, without managed fields unless it names them:
// the others need not be converted. Directives at the top concern all of them.
func touched(obj runtime.Object, change map[string]any) (_ runtime.Object, complete func(runtime.Object)) {
	directive := false
	for name := range change {
		directive = directive || strings.HasPrefix(name, "$")
	}
	reduced, others := object.Reduce(obj, func(name string) bool {
		_, named := change[name]
		return named || directive
	})
	if m, err := meta.Accessor(reduced); err == nil && reduced != obj && !directive && leavesManagers(change["metadata"]) {
		rest := metav1.ObjectMeta{ManagedFields: m.GetManagedFields()}
		m.SetManagedFields(nil)
		return reduced, func(patched runtime.Object) {
			others(patched)
			if m, err := meta.Accessor(patched); err == nil {
				m.SetManagedFields(rest.DeepCopy().ManagedFields)
			}
		}
	}
	return reduced, others
}

// leavesManagers reports whether a patch of metadata concerns neither managed fields nor, by a directive, all of them.
func leavesManagers(metadata any) bool {
	change, ok := metadata.(map[string]any)
	for name := range change {
		ok = ok && name != "managedFields" && !strings.HasPrefix(name, "$")
	}
	return ok
}

// maxComparisons bounds what a merge compares: each element of a list of the patch with each of the object's and
// of the patch.
const maxComparisons = 100_000_000

// boundMerge refuses patches whose lists take too long to be merged: 3 MB of them would take many minutes.
func boundMerge(before, change map[string]any) error {
	ours, theirs := elements(before), elements(change)
	if theirs*(ours+theirs) <= maxComparisons {
		return nil
	}
	return apierrors.NewRequestEntityTooLargeError(
		fmt.Sprintf("the lists of the patch have %d elements and those of the object %d, which are too many to be merged",
			theirs, ours))
}

// elements counts the elements of all lists within a value.
func elements(value any) (n int) {
	switch v := value.(type) {
	case map[string]any:
		for _, each := range v {
			n += elements(each)
		}
	case []any:
		n = len(v)
		for _, each := range v {
			n += elements(each)
		}
	}
	return n
}

// mergeMaps is the library's merge, which panics on some directives of a wrong
// type.
func mergeMaps(before, change map[string]any, schema runtime.Object) (after map[string]any, err error) {
	defer func() {
		if r := recover(); r != nil {
			err = mergepatch.ErrBadJSONDoc
		}
	}()
	return strategicpatch.StrategicMergeMapPatch(before, change, schema)
}

// strategicError is the status for a patch that cannot be merged.
func strategicError(err error) error {
	switch {
	case errors.Is(err, mergepatch.ErrBadJSONDoc), errors.Is(err, mergepatch.ErrBadPatchFormatForPrimitiveList),
		errors.Is(err, mergepatch.ErrBadPatchFormatForRetainKeys),
		errors.Is(err, mergepatch.ErrBadPatchFormatForSetElementOrderList),
		errors.Is(err, mergepatch.ErrUnsupportedStrategicMergePatchFormat):
		return apierrors.NewBadRequest(err.Error())
	case errors.Is(err, mergepatch.ErrNoListOfLists):
		return apierrors.NewGenericServerResponse(http.StatusUnprocessableEntity, "", schema.GroupResource{}, "",
			err.Error(), 0, false)
	}
	return err
}
