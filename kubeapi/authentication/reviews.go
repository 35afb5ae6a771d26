package authentication

import (
	"context"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/kubeapi/group"
)

type tokenReviews struct {
	tokens    authentication.Token
	audiences []string
}

func (t tokenReviews) create(ctx context.Context, r rest.CreateRequest) (runtime.Object, error) {
	review, ok := r.Object.(*authenticationv1.TokenReview)
	if !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a TokenReview: %#v", r.Object))
	}
	if review.Namespace != "" {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("namespace is not allowed on this type: %v", review.Namespace))
	}
	if review.Spec.Token == "" {
		return nil, apierrors.NewBadRequest("token is required for TokenReview in authentication")
	}
	if err := group.Admit(ctx, r.Object, r.Validate); err != nil {
		return nil, err
	}
	if t.tokens == nil {
		return review, nil
	}
	audiences := review.Spec.Audiences
	if len(audiences) == 0 {
		audiences = t.audiences
	}
	if len(audiences) > 0 {
		ctx = authentication.WithAudiences(ctx, audiences)
	}
	found, err := authentication.Review(ctx, t.tokens, review.Spec.Token)
	// What the client wrote into the status stays where nothing is known better.
	review.Status.Authenticated = found != nil && err == nil
	if err != nil {
		review.Status.Error = err.Error()
	}
	if found == nil || found.User == nil || err != nil {
		return review, nil
	}
	review.Status.User = found.User.UserInfo()
	review.Status.Audiences = found.Audiences
	return review, nil
}

func reviewSelf(ctx context.Context, r rest.CreateRequest) (runtime.Object, error) {
	if _, ok := r.Object.(*authenticationv1.SelfSubjectReview); !ok {
		return nil, apierrors.NewBadRequest(fmt.Sprintf("not a SelfSubjectReview: %#v", r.Object))
	}
	if err := group.Admit(ctx, r.Object, r.Validate); err != nil {
		return nil, err
	}
	u := request.UserFrom(ctx)
	if u == nil {
		return nil, apierrors.NewBadRequest("no user present on request")
	}
	return &authenticationv1.SelfSubjectReview{
		ObjectMeta: metav1.ObjectMeta{CreationTimestamp: metav1.Now()},
		Status:     authenticationv1.SelfSubjectReviewStatus{UserInfo: u.UserInfo()},
	}, nil
}
