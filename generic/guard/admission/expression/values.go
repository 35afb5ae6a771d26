package expression

import (
	"context"

	admissionapi "k8s.io/api/admission/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/cel/library"
)

// Values are the inputs of expressions for one operation, with the object in one version. They are computed on
// first use. They are not safe for concurrent use.
type Values struct {
	Attributes *admission.Attributes
	// Version is the group version of the object, Codec its converter. With a nil Codec the object is not
	// converted.
	Version schema.GroupVersion
	Codec   admission.Converter
	// Namespace returns the operation's namespace. It is called at most once.
	Namespace  func() (*corev1.Namespace, error)
	Authorizer authorizer.Authorizer

	ctx               context.Context //nolint:containedctx // of the request whose values these are
	known             map[string]any
	object, oldObject runtime.Object
}

// NewValues returns the inputs for an operation with the object in a group version.
func NewValues(ctx context.Context, a *admission.Attributes, gv schema.GroupVersion, authz authorizer.Authorizer,
	namespace func() (*corev1.Namespace, error)) (*Values, error) {
	v := &Values{Attributes: a, Version: gv, Codec: a.Codec, Authorizer: authz, Namespace: namespace, ctx: ctx,
		known: map[string]any{}}
	if a.Codec != nil && a.Versions != nil && gv != a.Resource.GroupVersion() {
		codec, err := a.Versions.Converter(gv)
		if err != nil {
			return nil, err
		}
		v.Codec = codec
	}
	return v, nil
}

// Kind returns the kind of the object in its version.
func (v *Values) Kind() schema.GroupVersionKind {
	if v.Codec != nil {
		return v.Codec.Kind()
	}
	return v.Attributes.Kind
}

// Object returns the object in its version, or nil. It may share memory with the original.
func (v *Values) Object() (runtime.Object, error) {
	return v.shown(&v.object, v.Attributes.Object)
}

// Old returns the old object in its version, or nil. It may share memory with the original.
func (v *Values) Old() (runtime.Object, error) {
	return v.shown(&v.oldObject, v.Attributes.OldObject)
}

func (v *Values) shown(kept *runtime.Object, hub runtime.Object) (runtime.Object, error) {
	switch {
	case *kept != nil:
		return *kept, nil
	case hub == nil || v.Codec == nil:
		return hub, nil // without a write to kept: this case may run concurrently
	}
	obj, err := v.Codec.FromHub(hub)
	*kept = obj
	return obj, err
}

// ResolveName implements CEL's activation.
func (v *Values) ResolveName(name string) (any, bool) {
	if x, ok := v.known[name]; ok {
		return x, true
	}
	x, err := v.resolve(name)
	if err != nil {
		return nil, false
	}
	v.known[name] = x
	return x, true
}

func (v *Values) resolve(name string) (any, error) {
	switch name {
	case "object":
		obj, err := v.Object()
		if err != nil || obj == nil {
			return nil, err
		}
		return Map(obj, v.Kind())
	case "oldObject":
		obj, err := v.Old()
		if err != nil || obj == nil {
			return nil, err
		}
		return Map(obj, v.Kind())
	case "request":
		return runtime.DefaultUnstructuredConverter.ToUnstructured(Request(v.Attributes, v.Kind(), v.Version))
	case "namespaceObject":
		return v.namespace()
	case "authorizer":
		return library.NewAuthorizer(v.ctx, v.Authorizer, v.user()), nil
	case "authorizer.requestResource":
		a := v.Attributes
		return library.NewResourceCheck(v.ctx, v.Authorizer, v.user(), authorizer.Attributes{
			APIGroup: a.Resource.Group, APIVersion: a.Resource.Version, Resource: a.Resource.Resource,
			Subresource: a.Subresource, Namespace: a.Namespace, Name: a.Name,
		}), nil
	}
	return nil, nil
}

// Parent implements CEL's activation.
func (v *Values) Parent() activation { return nil }

func (v *Values) user() *user.Info {
	if v.Attributes.User == nil {
		return &user.Info{}
	}
	return v.Attributes.User
}

func (v *Values) namespace() (any, error) {
	if v.Namespace == nil {
		return nil, nil
	}
	ns, err := v.Namespace()
	if err != nil || ns == nil {
		return nil, err
	}
	return Map(ns, corev1.SchemeGroupVersion.WithKind("Namespace"))
}

// Map returns an object as JSON values. The map may share memory with obj and must not be changed.
func Map(obj runtime.Object, kind schema.GroupVersionKind) (map[string]any, error) {
	if u, ok := obj.(runtime.Unstructured); ok {
		return u.UnstructuredContent(), nil
	}
	m, err := runtime.DefaultUnstructuredConverter.ToUnstructured(obj)
	if err != nil {
		return nil, err
	}
	if !kind.Empty() {
		m["apiVersion"], m["kind"] = kind.GroupVersion().String(), kind.Kind
	}
	return m, nil
}

// Request returns the AdmissionRequest of an operation without objects and UID.
func Request(a *admission.Attributes, kind schema.GroupVersionKind,
	gv schema.GroupVersion) *admissionapi.AdmissionRequest {
	info := a.User
	if info == nil {
		info = &user.Info{}
	}
	extra := make(map[string]authenticationv1.ExtraValue, len(info.Extra))
	for k, values := range info.Extra {
		extra[k] = values
	}
	r := &admissionapi.AdmissionRequest{
		Kind:               metav1.GroupVersionKind(kind),
		Resource:           metav1.GroupVersionResource(gv.WithResource(a.Resource.Resource)),
		SubResource:        a.Subresource,
		RequestKind:        ptr.To(metav1.GroupVersionKind(a.Kind)),
		RequestResource:    ptr.To(metav1.GroupVersionResource(a.Resource)),
		RequestSubResource: a.Subresource,
		Name:               a.Name,
		Namespace:          a.Namespace,
		Operation:          admissionapi.Operation(a.Operation),
		UserInfo:           authenticationv1.UserInfo{Username: info.Name, UID: info.UID, Groups: info.Groups, Extra: extra},
		DryRun:             ptr.To(a.DryRun),
	}
	if a.Options != nil && a.Operation != admission.Connect {
		r.Options = runtime.RawExtension{Object: a.Options}
	}
	return r
}
