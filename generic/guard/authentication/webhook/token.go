package webhook

import (
	"context"
	"errors"
	"fmt"

	authenticationv1 "k8s.io/api/authentication/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authentication"
)

// Token returns an authenticator that sends TokenReviews of version v1 or v1beta1, which have the same form.
// audiences are the API server's own. Callers wrap it into a TokenCache.
func Token(c *Caller, version string, audiences []string) (authentication.Token, error) {
	if version != "v1" && version != "v1beta1" {
		return nil, fmt.Errorf("unsupported TokenReview version %q", version)
	}
	return authentication.TokenFunc(func(ctx context.Context, token string) (*authentication.Response, error) {
		wanted, ok := authentication.AudiencesFrom(ctx)
		if !ok || len(wanted) == 0 {
			wanted = audiences
		}
		review := authenticationv1.TokenReview{
			TypeMeta: metav1.TypeMeta{Kind: "TokenReview", APIVersion: "authentication.k8s.io/" + version},
			Spec:     authenticationv1.TokenReviewSpec{Token: token, Audiences: wanted},
		}
		if err := c.Call(ctx, &review); err != nil {
			return nil, err
		}
		return accept(&review.Status, wanted, audiences)
	}), nil
}

// accept returns the user of an authenticated token, and for which of the wanted audiences it is. A webhook that
// names no audiences authenticates for own, those of the API server.
func accept(s *authenticationv1.TokenReviewStatus, wanted, own []string) (*authentication.Response, error) {
	if !s.Authenticated {
		if s.Error != "" {
			return nil, errors.New(s.Error)
		}
		return nil, nil
	}
	audiences := s.Audiences
	if len(audiences) == 0 {
		audiences = own
	}
	audiences = authentication.Intersect(wanted, audiences)
	if len(wanted) > 0 && len(audiences) == 0 {
		return nil, nil
	}
	u := &user.Info{Name: s.User.Username, UID: s.User.UID, Groups: s.User.Groups}
	if len(s.User.Extra) > 0 {
		u.Extra = make(map[string][]string, len(s.User.Extra))
		for k, v := range s.User.Extra {
			u.Extra[k] = v
		}
	}
	return &authentication.Response{User: u, Audiences: audiences}, nil
}
