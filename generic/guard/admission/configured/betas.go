package configured

import (
	"encoding/json"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	admissionv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/tools/cache"
)

// MutatingVersion returns the newest served version of MutatingAdmissionPolicy, or "" if none is served.
func MutatingVersion(serves func(gv schema.GroupVersion, resource string) bool) string {
	for _, version := range []string{"v1", "v1beta1", "v1alpha1"} {
		if serves(schema.GroupVersion{Group: admissionv1.GroupName, Version: version}, "mutatingadmissionpolicies") {
			return version
		}
	}
	return ""
}

// mutatingInformers returns informers of MutatingAdmissionPolicies and their bindings in the given version, or
// nil if it is "". trimmed converts their objects to v1.
func mutatingInformers(of InformerFactory, version string) (policies, bindings cache.SharedIndexInformer) {
	switch version {
	case "v1":
		return of.InformerFor(&admissionv1.MutatingAdmissionPolicy{}),
			of.InformerFor(&admissionv1.MutatingAdmissionPolicyBinding{})
	case "v1beta1":
		return of.InformerFor(&admissionv1beta1.MutatingAdmissionPolicy{}),
			of.InformerFor(&admissionv1beta1.MutatingAdmissionPolicyBinding{})
	case "v1alpha1":
		return of.InformerFor(&admissionv1alpha1.MutatingAdmissionPolicy{}),
			of.InformerFor(&admissionv1alpha1.MutatingAdmissionPolicyBinding{})
	}
	return nil, nil
}

// trimmed is the transform of the informers: it drops managed fields and converts policies and bindings to v1.
// It returns an object that it has already transformed unchanged.
func trimmed(obj any) (any, error) {
	switch obj.(type) {
	case *admissionv1beta1.MutatingAdmissionPolicy, *admissionv1alpha1.MutatingAdmissionPolicy:
		return stable(obj, &admissionv1.MutatingAdmissionPolicy{})
	case *admissionv1beta1.MutatingAdmissionPolicyBinding, *admissionv1alpha1.MutatingAdmissionPolicyBinding:
		return stable(obj, &admissionv1.MutatingAdmissionPolicyBinding{})
	}
	return withoutManagedFields(obj)
}

// stable converts an object to a version that has the same fields.
func stable(obj, into any) (any, error) {
	b, err := json.Marshal(obj)
	if err != nil {
		return nil, err
	}
	if err := json.Unmarshal(b, into); err != nil {
		return nil, err
	}
	return withoutManagedFields(into)
}
