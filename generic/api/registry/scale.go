package registry

import (
	"context"
	"fmt"
	"sync"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/managedfields"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// scaling serves the subresource "scale": an autoscaling/v1 Scale that
// shows, and sets, the replicas of an object.
type scaling[T kind.Object] struct {
	store *Store[T]
	sub   *kind.ScaleSubresource[T]
}

// Scale returns what serves the subresource "scale".
func (s *Store[T]) Scale(sub *kind.ScaleSubresource[T]) *rest.Resource {
	r, codec := &scaling[T]{store: s, sub: sub}, sync.OnceValues(kind.NewScaleCodec)
	return &rest.Resource{
		New: func() runtime.Object { return &autoscalingv1.Scale{} }, Kind: kind.ScaleKind,
		Codec:    func(schema.GroupVersion) (rest.Codec, error) { return codec() },
		Versions: s.served, Namespaced: s.kind.Namespaced,
		Get: r.get, Update: r.update, ConvertToTable: kind.ScaleTable,
	}
}

func (r *scaling[T]) get(ctx context.Context, get rest.GetRequest) (runtime.Object, error) {
	object, err := r.store.Get(ctx, get)
	if err != nil {
		return nil, err
	}
	st, ok := object.(*stored[T])
	if !ok {
		return nil, kind.NotOfKind(object, r.store.kind.Hub)
	}
	obj, err := r.store.decode(st.record)
	if err != nil {
		return nil, err
	}
	part, err := r.sub.Get(obj)
	if err != nil {
		return nil, err
	}
	return kind.ShowScale(obj, part), nil
}

// update makes the scale's change one of the object, by the rules of the main resource.
func (r *scaling[T]) update(ctx context.Context, of rest.UpdateRequest) (runtime.Object, bool, error) {
	u := &update[T]{store: r.store, dryRun: dryRunUpdate(of.Options), UpdateRequest: rest.UpdateRequest{
		Name: of.Name, Preconditions: of.Preconditions,
		Change: func(ctx context.Context, obj runtime.Object) (runtime.Object, error) {
			return r.change(ctx, obj, of.Change)
		},
	}}
	if of.ValidateUpdate != nil {
		u.ValidateUpdate = r.validateAsScale(of.ValidateUpdate)
	}
	updated, _, err := u.run(ctx)
	if err != nil {
		return nil, false, err
	}
	obj, err := r.store.objectOf(updated)
	if err != nil {
		return nil, false, err
	}
	scale, err := r.sub.Show(obj, 0)
	if err != nil {
		return nil, false, err
	}
	return scale, false, nil
}

// validateAsScale lets admission validate the scales instead of the objects.
func (r *scaling[T]) validateAsScale(validate rest.ValidateObjectUpdateFunc) rest.ValidateObjectUpdateFunc {
	return func(ctx context.Context, object, oldObject runtime.Object) error {
		obj, ok := object.(T)
		old, oldOK := oldObject.(T)
		if !ok || !oldOK {
			return kind.NotOfKind(object, r.store.kind.Hub)
		}
		scale, err := r.sub.Show(obj, 0)
		if err != nil {
			return err
		}
		oldScale, err := r.sub.Show(old, 0)
		if err != nil {
			return err
		}
		return validate(ctx, scale, oldScale)
	}
}

// change computes the object from what a request makes of its scale.
func (r *scaling[T]) change(ctx context.Context, object runtime.Object,
	change func(context.Context, runtime.Object) (runtime.Object, error)) (runtime.Object, error) {
	s := r.store
	obj, ok := object.DeepCopyObject().(T)
	if !ok {
		return nil, kind.NotOfKind(object, s.kind.Hub)
	}
	before, err := r.sub.Show(obj, kind.UnsetReplicas)
	if err != nil {
		return nil, err
	}
	version, paths := r.parentVersion(ctx), r.sub.PathsIn(r.store.codecs)
	handler := managedfields.NewScaleHandler(obj.GetManagedFields(), version, paths)
	if before.ManagedFields, err = handler.ToSubresource(); err != nil {
		return nil, err
	}
	updated, err := change(ctx, before)
	if err != nil {
		return nil, err
	}
	scale, ok := updated.(*autoscalingv1.Scale)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("expected input object type to be Scale, but %T", updated))
	}
	if scale.Spec.Replicas == kind.UnsetReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty",
			paths[version.String()].String()))
	}
	// Custom resources validate the replicas where they keep them.
	if errs := kind.ValidateScale(scale); len(errs) > 0 && s.kind.View().Typed() {
		return nil, apierrors.NewInvalid(kind.ScaleKind.GroupKind(), obj.GetName(), errs)
	}
	if scale.UID != "" && scale.UID != obj.GetUID() {
		of := s.requested(ctx)
		of.Resource += "/scale"
		return nil, apierrors.NewConflict(of, obj.GetName(),
			//nolint:staticcheck // a message of the API
			fmt.Errorf("Precondition failed: UID in precondition: %v, UID in object meta: %v", scale.UID, obj.GetUID()))
	}
	if err := r.sub.Set(obj, scale.Spec.Replicas); err != nil {
		return nil, err
	}
	if scale.ResourceVersion != "" || s.overwrites(ctx) {
		obj.SetResourceVersion(scale.ResourceVersion)
	}
	entries, err := handler.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	obj.SetManagedFields(entries)
	return obj, nil
}

// parentVersion is the version of the object's own managed fields that scaling
// shows in: the requested one.
func (r *scaling[T]) parentVersion(ctx context.Context) schema.GroupVersion {
	if i := request.InfoFrom(ctx); i != nil && i.IsResourceRequest {
		gv := schema.GroupVersion{Group: i.APIGroup, Version: i.APIVersion}
		if _, err := r.store.version(gv); err == nil {
			return gv
		}
	}
	return r.store.kind.Hub.GroupVersion()
}
