// Package resource declares the kinds of the group resource.k8s.io/v1, dynamic
// resource allocation: DeviceClass, ResourceClaim, ResourceClaimTemplate and
// ResourceSlice.
package resource

import (
	"context"

	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane/generic/registry"
	"triplane/generic/server"
	"triplane/kubeapi/check"
	"triplane/kubeapi/group"
	"triplane/kubeapi/show"
	"triplane/kubeapi/strategy"
)

var v1 = resourcev1.SchemeGroupVersion

// Group builds resource.k8s.io/v1.
func Group(d group.Deps) (*server.APIGroupInfo, error) {
	b := group.New(d, resourcev1.GroupName, "v1")
	group.Add(b, deviceClassKind())
	group.Add(b, resourceClaimKind(d.Stores))
	group.Add(b, claimTemplateKind(d.Stores))
	group.Add(b, resourceSliceKind())
	return b.Info()
}

func deviceClassKind() registry.Kind[*resourcev1.DeviceClass] {
	type class = *resourcev1.DeviceClass
	return registry.Kind[class]{
		Hub: v1.WithKind("DeviceClass"), Plural: "deviceclasses", Singular: "deviceclass",
		New:              func() class { return &resourcev1.DeviceClass{} },
		NewList:          func() runtime.Object { return &resourcev1.DeviceClassList{} },
		PrepareForCreate: func(_ context.Context, c class) { c.Generation = 1 },
		PrepareForUpdate: func(_ context.Context, c, old class) {
			strategy.Generation(c, old, check.Differs(c.Spec, old.Spec))
		},
		Validate:                 func(_ context.Context, c class) field.ErrorList { return validateClass(c) },
		ValidateUpdate:           func(_ context.Context, c, _ class) field.ErrorList { return validateClass(c) },
		AllowUnconditionalUpdate: true,
		DeleteReturnsObject:      true,
		Columns:                  []registry.Column{show.Name(), show.Age()},
		CellsAt:                  func(c class, since func(metav1.Time) string) []any { return []any{c.Name, since(c.CreationTimestamp)} },
	}
}

func resourceSliceKind() registry.Kind[*resourcev1.ResourceSlice] {
	type slice = *resourcev1.ResourceSlice
	return registry.Kind[slice]{
		Hub: v1.WithKind("ResourceSlice"), Plural: "resourceslices", Singular: "resourceslice",
		New:              func() slice { return &resourcev1.ResourceSlice{} },
		NewList:          func() runtime.Object { return &resourcev1.ResourceSliceList{} },
		Default:          defaultSlice,
		PrepareForCreate: func(_ context.Context, s slice) { s.Generation = 1 },
		PrepareForUpdate: func(_ context.Context, s, old slice) {
			strategy.Generation(s, old, check.Differs(s.Spec, old.Spec))
		},
		Validate: func(_ context.Context, s slice) field.ErrorList { return validateSlice(s) },
		ValidateUpdate: func(_ context.Context, s, old slice) field.ErrorList {
			errs := validateSlice(s)
			path := field.NewPath("spec")
			errs = append(errs, check.Immutable(s.Spec.Pool.Name, old.Spec.Pool.Name, path.Child("pool", "name"))...)
			errs = append(errs, check.Immutable(s.Spec.Driver, old.Spec.Driver, path.Child("driver"))...)
			return append(errs, check.Immutable(s.Spec.NodeName, old.Spec.NodeName, path.Child("nodeName"))...)
		},
		AllowUnconditionalUpdate: true,
		DeleteReturnsObject:      true,
		Columns: []registry.Column{
			show.Name(),
			show.Text("Node", show.Doc(resourcev1.ResourceSliceSpec{}, "nodeName")),
			show.Text("Driver", show.Doc(resourcev1.ResourceSliceSpec{}, "driver")),
			show.Text("Pool", show.Doc(resourcev1.ResourcePool{}, "name")),
			show.Age(),
		},
		CellsAt: func(s slice, since func(metav1.Time) string) []any {
			return []any{s.Name, ptr.Deref(s.Spec.NodeName, ""), s.Spec.Driver, s.Spec.Pool.Name, since(s.CreationTimestamp)}
		},
		Fields: []registry.SelectableField[slice]{
			{Path: "spec.nodeName", Get: func(s slice) string { return ptr.Deref(s.Spec.NodeName, "") }},
			{Path: "spec.driver", Get: func(s slice) string { return s.Spec.Driver }},
		},
		UnknownField: "field label not supported for resource.k8s.io/v1, Kind=ResourceSlice: %s",
	}
}
