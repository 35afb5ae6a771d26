package certificates

import (
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/defaults"
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
	return kind.Kind[*podRequest]{
		Namespaced: true,
		// v1 lacks the fields that the stub replaces.
		Representation: kind.Typed[*podRequest]{MetadataOnUpdate: kind.MetadataChange, Versions: []kind.Version[*podRequest]{
			kind.SimilarFields(v1, nil, func(*podRequest, *certificatesv1.PodCertificateRequest) error { return nil }),
		}},
		Write: kind.Write[*podRequest]{
			Default:   func(r *podRequest) { defaults.Set(&r.Spec.MaxExpirationSeconds, dayOfSeconds) },
			Validate:  kind.OnCreate(validatePodRequest),
			Immutable: []string{"spec"},
		},
		Columns: []kind.Column{
			show.Name(), show.Path("spec.podName"), show.Path("spec.serviceAccountName"), show.Path("spec.nodeName"),
			show.Path("spec.signerName"),
			show.Cell("State", "Is the request Pending, Issued, Denied, or Failed?", podRequestState),
			show.Path("spec.unverifiedUserAnnotations"),
		},
		Select: kind.Select[*podRequest]{AnyNamespace: true,
			Fields: kind.Fields[*podRequest]("spec.signerName", "spec.podName", "spec.nodeName")},
		Status: &kind.Subresource[*podRequest]{Metadata: kind.ClientMetadata, Validate: validatePodRequestStatus},
	}
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
