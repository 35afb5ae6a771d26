package registry

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
)

// ErrNoReplicas is what the error of ScaleSubresource.Get may be where an
// object has no replicas yet: reading its scale fails, writing it does not.
var ErrNoReplicas = errors.New("the object has no replicas")

// ScaleOf declares the scale of a kind. parts returns its wanted replicas, how many there are, and its selector.
func ScaleOf[T Object](parts func(T) (wanted **int32, present int32, selector *metav1.LabelSelector)) *ScaleSubresource[T] {
	return &ScaleSubresource[T]{
		Get: func(obj T) (*Scale, error) {
			wanted, present, selector := parts(obj)
			s, err := metav1.LabelSelectorAsSelector(selector)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			return &Scale{Replicas: ptr.Deref(*wanted, 0), StatusReplicas: present, Selector: s.String()}, nil
		},
		Set: func(obj T, n int32) error {
			wanted, _, _ := parts(obj)
			*wanted = &n
			return nil
		},
	}
}

var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// scaling serves the subresource "scale": an autoscaling/v1 Scale that
// shows, and sets, the replicas of an object.
type scaling[T Object] struct {
	store *Store[T]
	sub   *ScaleSubresource[T]
}

// Scale returns what serves the subresource "scale".
func (s *Store[T]) Scale(sub *ScaleSubresource[T]) *rest.Resource {
	r, codec := &scaling[T]{store: s, sub: sub}, sync.OnceValues(newScaleCodec)
	return &rest.Resource{
		New: func() runtime.Object { return &autoscalingv1.Scale{} }, Kind: scaleKind,
		Codec:    func(schema.GroupVersion) (rest.Codec, error) { return codec() },
		Versions: s.served, Namespaced: s.kind.Namespaced,
		Get: r.get, Update: r.update, ConvertToTable: scaleTable,
	}
}

func (r *scaling[T]) get(ctx context.Context, get rest.GetRequest) (runtime.Object, error) {
	object, err := r.store.Get(ctx, get)
	if err != nil {
		return nil, err
	}
	st, ok := object.(*stored[T])
	if !ok {
		return nil, errNotOfKind(object, r.store.kind.Hub)
	}
	obj, err := r.store.decode(st.record)
	if err != nil {
		return nil, err
	}
	part, err := r.sub.Get(obj)
	if err != nil {
		return nil, err
	}
	return r.show(obj, part), nil
}

// unsetReplicas stands for replicas that are not there while a patch is made of a scale,
// as none is 0 otherwise.
const unsetReplicas = math.MinInt32

// scaleOf shows the scale of an object that is updated: that of one without
// replicas says none.
func (r *scaling[T]) scaleOf(obj T, none int32) (*autoscalingv1.Scale, error) {
	part, err := r.sub.Get(obj)
	if errors.Is(err, ErrNoReplicas) {
		without := Scale{}
		if part != nil {
			without = *part
		}
		without.Replicas = none
		return r.show(obj, &without), nil
	}
	if err != nil {
		return nil, err
	}
	return r.show(obj, part), nil
}

func (r *scaling[T]) show(obj T, part *Scale) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: scaleKind.Kind, APIVersion: "autoscaling/v1"},
		ObjectMeta: metav1.ObjectMeta{
			Name:              obj.GetName(),
			Namespace:         obj.GetNamespace(),
			UID:               obj.GetUID(),
			ResourceVersion:   obj.GetResourceVersion(),
			CreationTimestamp: obj.GetCreationTimestamp(),
		},
		Spec:   autoscalingv1.ScaleSpec{Replicas: part.Replicas},
		Status: autoscalingv1.ScaleStatus{Replicas: part.StatusReplicas, Selector: part.Selector},
	}
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
	scale, err := r.scaleOf(obj, 0)
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
			return errNotOfKind(object, r.store.kind.Hub)
		}
		scale, err := r.scaleOf(obj, 0)
		if err != nil {
			return err
		}
		oldScale, err := r.scaleOf(old, 0)
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
		return nil, errNotOfKind(object, s.kind.Hub)
	}
	before, err := r.scaleOf(obj, unsetReplicas)
	if err != nil {
		return nil, err
	}
	version, paths := r.parentVersion(ctx), r.replicasPaths()
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
	if scale.Spec.Replicas == unsetReplicas {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("the spec replicas field %q cannot be empty",
			paths[version.String()].String()))
	}
	// Custom resources validate the replicas where they keep them.
	if errs := s.validateScale(scale); len(errs) > 0 && s.typed() {
		return nil, apierrors.NewInvalid(scaleKind.GroupKind(), obj.GetName(), errs)
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
	if scale.ResourceVersion != "" || s.kind.Write.AllowUnconditionalUpdate {
		obj.SetResourceVersion(scale.ResourceVersion)
	}
	entries, err := handler.ToParent(scale.ManagedFields)
	if err != nil {
		return nil, err
	}
	obj.SetManagedFields(entries)
	return obj, nil
}

func (s *Store[T]) validateScale(scale *autoscalingv1.Scale) field.ErrorList {
	errs := apivalidation.ValidateObjectMetaAccessor(scale, s.kind.Namespaced, apivalidation.NameIsDNSSubdomain,
		metadataPath)
	errs = append(errs, s.validateFinalizers(scale)...)
	if scale.Spec.Replicas < 0 {
		errs = append(errs, field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas,
			apivalidation.IsNegativeErrorMsg))
	}
	return errs
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

// replicasPaths is where each version of the object has its replicas.
func (r *scaling[T]) replicasPaths() managedfields.ResourcePathMappings {
	if r.sub.ReplicasPaths != nil {
		return r.sub.ReplicasPaths
	}
	path := fieldpath.MakePathOrDie("spec", "replicas")
	m := managedfields.ResourcePathMappings{}
	for i := range r.store.codecs {
		m[r.store.codecs[i].gv.String()] = path
	}
	return m
}

// scaleColumns are those of a Scale, whatever it scales.
var scaleColumns = []metav1.TableColumnDefinition{
	{Name: "Name", Type: "string", Description: nameDescription},
	{Name: "Desired", Type: "integer", Description: "replicas is the desired number of instances for the scaled object."},
	{Name: "Available", Type: "integer", Description: "replicas is the actual number of observed instances of the scaled object."},
	{Name: "Age", Type: "string", Description: createdDescription},
}

// scaleTable is rest.Resource.ConvertToTable of scales.
func scaleTable(_ context.Context, object runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	scale, ok := object.(*autoscalingv1.Scale)
	if !ok {
		return nil, errNotOfKind(object, scaleKind)
	}
	table := &metav1.Table{ListMeta: metav1.ListMeta{ResourceVersion: scale.ResourceVersion}}
	if opts == nil || !opts.NoHeaders {
		table.ColumnDefinitions = scaleColumns
	}
	age := "<unknown>"
	if !scale.CreationTimestamp.IsZero() {
		age = duration.HumanDuration(time.Since(scale.CreationTimestamp.Time))
	}
	table.Rows = []metav1.TableRow{{
		Cells:  []any{scale.Name, int64(scale.Spec.Replicas), int64(scale.Status.Replicas), age},
		Object: runtime.RawExtension{Object: scale},
	}}
	return table, nil
}
