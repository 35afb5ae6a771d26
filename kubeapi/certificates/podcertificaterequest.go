package certificates

import (
	"context"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/show"
)

const (
	gatePodCertificate = "PodCertificateRequest"

	dayOfSeconds = int32(24 * time.Hour / time.Second)
	leastSeconds = int32(time.Hour / time.Second)
	mostSeconds  = 91 * dayOfSeconds

	pending = "Pending" // the state of a request without a final condition
)

type podRequest = certificatesv1beta1.PodCertificateRequest

func podRequestKind() kind.Kind[*podRequest] {
	gv := certificatesv1beta1.SchemeGroupVersion
	return kind.Kind[*podRequest]{
		Hub: gv.WithKind("PodCertificateRequest"), Namespaced: true,
		Representation: kind.Typed[*podRequest]{MetadataOnUpdate: kind.MetadataChange, Versions: []kind.Version[*podRequest]{
			kind.VersionOf(v1.WithKind("PodCertificateRequest"), podRequestFromV1, podRequestToV1),
		}},
		Names: kind.Names{Plural: "podcertificaterequests"},
		Write: kind.Write[*podRequest]{
			Default:  func(r *podRequest) { defaults.Set(&r.Spec.MaxExpirationSeconds, dayOfSeconds) },
			Validate: func(_ context.Context, r *podRequest) field.ErrorList { return validatePodRequest(r) },
			ValidateUpdate: func(_ context.Context, r, old *podRequest) field.ErrorList {
				return check.Immutable(r.Spec, old.Spec, field.NewPath("spec"))
			},
		},
		Show: kind.Show[*podRequest]{
			Columns: []kind.Column{
				show.Name(), show.Text("PodName", show.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "podName")),
				show.Text("ServiceAccountName", show.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "serviceAccountName")),
				show.Text("NodeName", show.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "nodeName")),
				show.Text("SignerName", show.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "signerName")),
				show.Text("State", "Is the request Pending, Issued, Denied, or Failed?"),
				show.Text("UnverifiedUserAnnotations",
					show.Doc(certificatesv1beta1.PodCertificateRequestSpec{}, "unverifiedUserAnnotations")),
			},
			Cells: func(r *podRequest, _ func(metav1.Time) string) []any {
				return []any{r.Name, r.Spec.PodName, r.Spec.ServiceAccountName, string(r.Spec.NodeName), r.Spec.SignerName,
					podRequestState(r), show.Labels(r.Spec.UnverifiedUserAnnotations)}
			},
		},
		Select: kind.Select[*podRequest]{AnyNamespace: true, Fields: []kind.SelectableField[*podRequest]{
			{Path: "spec.signerName", Get: func(r *podRequest) string { return r.Spec.SignerName }},
			{Path: "spec.podName", Get: func(r *podRequest) string { return r.Spec.PodName }},
			{Path: "spec.nodeName", Get: func(r *podRequest) string { return string(r.Spec.NodeName) }},
		}},
		Status: &kind.StatusSubresource[*podRequest]{
			Metadata: kind.ClientMetadata,
			ValidateUpdate: func(_ context.Context, r, old *podRequest) field.ErrorList {
				return validatePodRequestStatus(r, old)
			},
		},
	}
}

// podRequestFromV1 and podRequestToV1 convert: v1 has the fields of v1beta1 without those that the stub replaces.
func podRequestFromV1(from *certificatesv1.PodCertificateRequest) (*podRequest, error) {
	to := &podRequest{}
	return to, kind.CopyFields(from, to)
}

func podRequestToV1(from *podRequest) (*certificatesv1.PodCertificateRequest, error) {
	to := &certificatesv1.PodCertificateRequest{}
	return to, kind.CopyFields(from, to)
}

func podRequestState(r *podRequest) string {
	for _, c := range r.Status.Conditions {
		switch c.Type {
		case certificatesv1beta1.PodCertificateRequestConditionTypeIssued,
			certificatesv1beta1.PodCertificateRequestConditionTypeDenied,
			certificatesv1beta1.PodCertificateRequestConditionTypeFailed:
			return c.Type
		}
	}
	return pending
}
