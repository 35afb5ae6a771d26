package kind

import (
	"context"
	"errors"
	"math"
	"reflect"
	"time"

	autoscalingv1 "k8s.io/api/autoscaling/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apivalidation "k8s.io/apimachinery/pkg/api/validation"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/labels"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/duration"
	"k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"sigs.k8s.io/structured-merge-diff/v6/fieldpath"

	"triplane.dev/generic/api/codec"
	"triplane.dev/generic/api/rest"
)

// ScaleSubresource declares how autoscaling/v1 Scale reads and writes the kind, or one version of it.
type ScaleSubresource[T Object] struct {
	// Get returns the scale or, beside ErrNoReplicas, what else there is to show.
	Get func(T) (*Scale, error)
	// Set writes the wanted replicas.
	Set func(obj T, replicas int32) error
	// ReplicasPaths are the fields that a scale's managed fields map to in the object, by apiVersion, nil in one
	// without a scale: "spec.replicas" in all unless given.
	ReplicasPaths managedfields.ResourcePathMappings
}

// Scale is the part of an autoscaling/v1 Scale that differs by kind.
type Scale struct {
	Replicas       int32
	StatusReplicas int32
	Selector       string
}

// ErrNoReplicas is what the error of ScaleSubresource.Get may be where an
// object has no replicas yet: reading its scale fails, writing it does not.
var ErrNoReplicas = errors.New("the object has no replicas")

// ScaleOf declares the scale of a kind with the fields spec.replicas, spec.selector and status.replicas. It panics if
// the kind does not have them.
func ScaleOf[T Object]() *ScaleSubresource[T] {
	fieldOf := func(path string) goField {
		f, ok := findField(reflect.TypeFor[T](), path)
		if !ok {
			panic("no field " + path)
		}
		return f
	}
	wanted, selected, present := fieldOf("spec.replicas"), fieldOf("spec.selector"), fieldOf("status.replicas")
	return &ScaleSubresource[T]{
		Get: func(obj T) (*Scale, error) {
			scale := &Scale{StatusReplicas: int32(present.of(obj).Int())}
			if n := wanted.of(obj); n.IsValid() {
				scale.Replicas = int32(n.Int())
			}
			var selector *metav1.LabelSelector
			if s := selected.of(obj); s.IsValid() {
				switch x := s.Addr().Interface().(type) {
				case *metav1.LabelSelector:
					selector = x
				case *map[string]string:
					scale.Selector = labels.SelectorFromSet(*x).String()
					return scale, nil
				}
			}
			s, err := metav1.LabelSelectorAsSelector(selector)
			if err != nil {
				return nil, apierrors.NewBadRequest(err.Error())
			}
			scale.Selector = s.String()
			return scale, nil
		},
		Set: func(obj T, n int32) error {
			reflect.ValueOf(obj).Elem().FieldByIndex(wanted.index).Set(reflect.ValueOf(&n))
			return nil
		},
	}
}

// ScaleKind is the kind of the subresource "scale".
var ScaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

// UnsetReplicas stands for replicas that are not there while a patch is made of a scale, as none is 0 otherwise.
const UnsetReplicas = math.MinInt32

// Show returns the scale of an object that is updated: that of one without replicas says none.
func (s *ScaleSubresource[T]) Show(obj T, none int32) (*autoscalingv1.Scale, error) {
	part, err := s.Get(obj)
	if errors.Is(err, ErrNoReplicas) {
		without := Scale{}
		if part != nil {
			without = *part
		}
		without.Replicas = none
		return ShowScale(obj, &without), nil
	}
	if err != nil {
		return nil, err
	}
	return ShowScale(obj, part), nil
}

// ShowScale returns the scale of an object.
func ShowScale(obj metav1.Object, part *Scale) *autoscalingv1.Scale {
	return &autoscalingv1.Scale{
		TypeMeta: metav1.TypeMeta{Kind: ScaleKind.Kind, APIVersion: "autoscaling/v1"},
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

// ValidateScale validates what a client makes of the scale of an object. The metadata but the name, the UID and the
// version is not written, and may be anything.
func ValidateScale(scale *autoscalingv1.Scale) field.ErrorList {
	if scale.Spec.Replicas < 0 {
		return field.ErrorList{field.Invalid(field.NewPath("spec", "replicas"), scale.Spec.Replicas,
			apivalidation.IsNegativeErrorMsg)}
	}
	return nil
}

// NewScaleCodec returns the codec of autoscaling/v1 Scale.
func NewScaleCodec() (rest.Codec, error) {
	scheme := runtime.NewScheme()
	if err := autoscalingv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	return codec.New(scheme, ScaleKind, codec.Options{})
}

// PathsIn is where each version of the object has its replicas.
func (s *ScaleSubresource[T]) PathsIn(versions []VersionCodec) managedfields.ResourcePathMappings {
	if s.ReplicasPaths != nil {
		return s.ReplicasPaths
	}
	path := fieldpath.MakePathOrDie("spec", "replicas")
	m := managedfields.ResourcePathMappings{}
	for i := range versions {
		m[versions[i].GV.String()] = path
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

// ScaleTable is rest.Resource.ConvertToTable of scales.
func ScaleTable(_ context.Context, object runtime.Object, opts *metav1.TableOptions) (*metav1.Table, error) {
	scale, ok := object.(*autoscalingv1.Scale)
	if !ok {
		return nil, NotOfKind(object, ScaleKind)
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
