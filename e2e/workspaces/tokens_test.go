// Requests for tokens of service accounts in workspaces.
package workspaces

import (
	authenticationv1 "k8s.io/api/authentication/v1"
	"k8s.io/utils/ptr"
)

// tokenRequest asks for a token for the API server itself.
func tokenRequest() *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
}
