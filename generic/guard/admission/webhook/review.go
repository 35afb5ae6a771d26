package webhook

import (
	"encoding/json"
	"errors"
	"fmt"

	admissionapi "k8s.io/api/admission/v1"
	admissionv1beta1 "k8s.io/api/admission/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/apimachinery/pkg/util/uuid"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/guard/admission"
	"triplane.dev/generic/guard/admission/expression"
)

// encodeReview returns a new AdmissionReview request as JSON, which is the same for both versions.
func encodeReview(h *hook, v *expression.Values) (body []byte, uid types.UID, err error) {
	a := v.Attributes
	r := expression.Request(a, v.Kind(), v.Version)
	r.UID = uuid.NewUUID()
	if r.Object.Raw, err = document(v.Object, v.Kind()); err != nil {
		return nil, "", err
	}
	if r.OldObject.Raw, err = document(v.Old, v.Kind()); err != nil {
		return nil, "", err
	}
	if r.Options.Object != nil {
		if r.Options.Raw, err = json.Marshal(r.Options.Object); err != nil {
			return nil, "", err
		}
	}
	body, err = json.Marshal(&admissionapi.AdmissionReview{
		TypeMeta: metav1.TypeMeta{Kind: "AdmissionReview", APIVersion: "admission.k8s.io/" + h.version},
		Request:  r,
	})
	return body, r.UID, err
}

func document(get func() (runtime.Object, error), kind schema.GroupVersionKind) ([]byte, error) {
	obj, err := get()
	if err != nil || obj == nil {
		return nil, err
	}
	return admission.Document(obj, kind)
}

// newReview returns an empty AdmissionReview of a version.
func newReview(version string) runtime.Object {
	if version == "v1beta1" {
		return &admissionv1beta1.AdmissionReview{}
	}
	return &admissionapi.AdmissionReview{}
}

// readResponse returns the response of a decoded AdmissionReview. It rejects invalid ones.
func readResponse(obj runtime.Object, uid types.UID, mutating bool) (*admissionapi.AdmissionResponse, error) {
	if old, ok := obj.(*admissionv1beta1.AdmissionReview); ok {
		return responseOfV1beta1(old.Response)
	}
	review, ok := obj.(*admissionapi.AdmissionReview)
	if !ok || review.Response == nil {
		return nil, errAbsent
	}
	r := review.Response
	if r.UID != uid {
		return nil, fmt.Errorf("expected response.uid=%q, got %q", uid, r.UID)
	}
	want := admissionapi.SchemeGroupVersion.WithKind("AdmissionReview")
	if got := review.GroupVersionKind(); got != want {
		return nil, fmt.Errorf("expected webhook response of %v, got %v", want, got)
	}
	return r, checkPatch(r, mutating)
}

var errAbsent = errors.New("webhook response was absent")

// responseOfV1beta1 converts a response of v1beta1, for which fewer fields are required.
func responseOfV1beta1(r *admissionv1beta1.AdmissionResponse) (*admissionapi.AdmissionResponse, error) {
	if r == nil {
		return nil, errAbsent
	}
	out := &admissionapi.AdmissionResponse{
		UID: r.UID, Allowed: r.Allowed, Result: r.Result, AuditAnnotations: r.AuditAnnotations, Warnings: r.Warnings,
	}
	if len(r.Patch) > 0 {
		out.Patch, out.PatchType = r.Patch, ptr.To(admissionapi.PatchTypeJSONPatch)
	}
	return out, nil
}

func checkPatch(r *admissionapi.AdmissionResponse, mutating bool) error {
	switch {
	case !mutating && len(r.Patch) > 0:
		return errors.New("validating webhook may not return response.patch")
	case !mutating && r.PatchType != nil:
		return errors.New("validating webhook may not return response.patchType")
	case !mutating:
	case len(r.Patch) > 0 && r.PatchType == nil:
		return errors.New("webhook returned response.patch but not response.patchType")
	case len(r.Patch) == 0 && r.PatchType != nil:
		return errors.New("webhook returned response.patchType but not response.patch")
	case len(r.Patch) > 0 && *r.PatchType == "":
		return fmt.Errorf("webhook returned invalid response.patchType of %q", *r.PatchType)
	}
	return nil
}
