package certificates

import (
	"context"
	"fmt"
	"strings"

	authorizationv1 "k8s.io/api/authorization/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	authorizationv1client "k8s.io/client-go/kubernetes/typed/authorization/v1"
	certificatesv1client "k8s.io/client-go/kubernetes/typed/certificates/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	serviceAccount = "certificate-controller"
	workers        = 3
)

type approver struct {
	env     *control.Env
	client  certificatesv1client.CertificateSigningRequestInterface
	reviews authorizationv1client.SubjectAccessReviewInterface
}

// NewApprover returns the controller that approves requests.
func NewApprover(e *control.Env) (worker.Runner, error) {
	client, err := certificatesv1client.NewForConfig(e.As(serviceAccount))
	if err != nil {
		return nil, err
	}
	reviews, err := authorizationv1client.NewForConfig(e.As(serviceAccount))
	if err != nil {
		return nil, err
	}
	a := &approver{env: e, client: client.CertificateSigningRequests(), reviews: reviews.SubjectAccessReviews()}
	queue := control.NewQueue(e, "certificate_approval", workers, a.sync)
	follow(e, queue)
	return queue, nil
}

// follow adds all existing and changed requests to the queue.
func follow(e *control.Env, queue *control.Queue[string]) {
	e.Feed.On(group.CertificateSigningRequests(e.Stores).Resource(), func(o *control.Object) {
		if !o.Deleted() {
			queue.Add(o.Name)
		}
	})
}

// sync approves a kubelet's request for its client certificate, if the user is authorized.
func (a *approver) sync(ctx context.Context, name string) error {
	csr, err := group.CertificateSigningRequests(a.env.Stores).GetCached(control.Reading(ctx), "", name)
	if apierrors.IsNotFound(err) {
		return nil
	}
	if err != nil || csr.Spec.SignerName != certificatesv1.KubeAPIServerClientKubeletSignerName ||
		len(csr.Status.Certificate) > 0 ||
		condition(csr, certificatesv1.CertificateApproved) != nil ||
		condition(csr, certificatesv1.CertificateDenied) != nil {
		return err
	}
	r, err := check.CertificateRequest(csr.Spec.Request)
	if err != nil || kubeletClient(r, csr.Spec.Usages) != nil {
		return nil //nolint:nilerr // left to an administrator
	}
	kinds := []struct{ subresource, message string }{{"nodeclient",
		"Auto approving kubelet client certificate after SubjectAccessReview."}}
	if r.Subject.CommonName == csr.Spec.Username {
		kinds = append([]struct{ subresource, message string }{
			{"selfnodeclient", "Auto approving self kubelet client certificate after SubjectAccessReview."},
		}, kinds...)
	}
	for _, k := range kinds {
		allowed, err := a.allowed(ctx, csr, k.subresource)
		if err != nil {
			return err
		}
		if allowed {
			return a.approve(ctx, csr, k.message)
		}
	}
	return nil
}

func (a *approver) approve(ctx context.Context, csr *certificatesv1.CertificateSigningRequest, message string) error {
	csr.Status.Conditions = append(csr.Status.Conditions, certificatesv1.CertificateSigningRequestCondition{
		Type: certificatesv1.CertificateApproved, Status: conditionTrue, Reason: "AutoApproved", Message: message,
	})
	_, err := a.client.UpdateApproval(ctx, csr.Name, csr, metav1.UpdateOptions{})
	if err != nil {
		return fmt.Errorf("approving %s: %w", csr.Name, err)
	}
	return nil
}

// allowed reports whether the request's creator may create such certificates.
func (a *approver) allowed(
	ctx context.Context, csr *certificatesv1.CertificateSigningRequest, subresource string,
) (bool, error) {
	extra := map[string]authorizationv1.ExtraValue{}
	for key, values := range csr.Spec.Extra {
		extra[strings.ToLower(key)] = authorizationv1.ExtraValue(values)
	}
	review, err := a.reviews.Create(ctx,
		&authorizationv1.SubjectAccessReview{Spec: authorizationv1.SubjectAccessReviewSpec{
			User: csr.Spec.Username, UID: csr.Spec.UID, Groups: csr.Spec.Groups, Extra: extra,
			ResourceAttributes: &authorizationv1.ResourceAttributes{
				Group: certificatesv1.GroupName, Version: "*", Resource: "certificatesigningrequests", Subresource: subresource,
				Verb: "create",
			},
		}}, metav1.CreateOptions{})
	if err != nil {
		return false, err
	}
	return review.Status.Allowed, nil
}
