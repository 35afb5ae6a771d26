// Reviews of tokens and rules in workspaces, and requests for tokens of service accounts.
package workspaces

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"k8s.io/utils/ptr"

	"triplane.dev"
	"triplane.dev/testserver"
	"triplane.dev/workspaces"
)

// tokenRequest asks for a token for the API server itself.
func tokenRequest() *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: ptr.To[int64](3600)}}
}

// External API servers and webhooks of a workspace can review the tokens of its users: those of the server, which have
// the audience of the workspace there, and no service accounts of others.
func TestTokenReviews(t *testing.T) {
	file := filepath.Join(t.TempDir(), "tokens.csv")
	if err := os.WriteFile(file, []byte("carols,carol,1\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	s := testserver.Start(t, testserver.WithWorkspaces(), testserver.WithOptions(func(o *triplane.Options) { o.Authentication.TokenFile = file }))
	for _, name := range []string{"a", "b"} {
		create(t, s, &workspaces.Workspace{ObjectMeta: metav1.ObjectMeta{Name: name}})
	}
	ctx, c := bounded(t), clientOf(t, s.InWorkspace("a"))
	for token, want := range map[string]string{
		"carols": "carol", createToken(t, s.InWorkspace("a")): "system:serviceaccount:default:robot",
		createToken(t, s.InWorkspace("b")): "", createToken(t, s.TLSConfig()): "",
	} {
		review := &authenticationv1.TokenReview{Spec: authenticationv1.TokenReviewSpec{Token: token}}
		review, err := c.AuthenticationV1().TokenReviews().Create(ctx, review, metav1.CreateOptions{})
		if err != nil {
			t.Fatal(err)
		}
		if review.Status.User.Username != want || review.Status.Authenticated != (want != "") {
			t.Errorf("the user of %s is %+v", want, review.Status)
		}
		for _, audience := range review.Status.Audiences {
			if !strings.HasSuffix(audience, "/workspaces/a") {
				t.Errorf("the token of %s has the audience %s", want, audience)
			}
		}
	}
}

// Errors do not differ from those of a server without workspaces: they name authorizers, and keys have no prefix.
func TestErrorsInAWorkspace(t *testing.T) {
	s := startTenants(t)
	ctx, c := bounded(t), clientOf(t, s.in("/workspaces/a"))
	other := settings("of-a")
	other.UID = types.UID("another")
	_, err := c.CoreV1().ConfigMaps("default").Update(ctx, other, metav1.UpdateOptions{})
	if !apierrors.IsConflict(err) || !strings.Contains(err.Error(), "Key: /registry/configmaps/default/of-a,") {
		t.Errorf("an update of another object: %v", err)
	}
	if err := grant(ctx, c, "system:basic-user", rbacv1.Subject{APIGroup: rbacv1.GroupName, Kind: "Group", Name: "system:nodes"}); err != nil {
		t.Fatal(err)
	}
	node := s.InWorkspace("a")
	node.Impersonate = rest.ImpersonationConfig{UserName: "system:node:n", Groups: []string{"system:nodes"}}
	await(t, "the reason of the node authorizer", func() (bool, error) {
		_, err := clientOf(t, node).CoreV1().Nodes().Get(ctx, "m", metav1.GetOptions{})
		return err != nil && strings.Contains(err.Error(), ": node: "), ignoring(err, apierrors.IsForbidden)
	})
	rules, err := clientOf(t, node).AuthorizationV1().SelfSubjectRulesReviews().Create(ctx, &authorizationv1.SelfSubjectRulesReview{
		Spec: authorizationv1.SelfSubjectRulesReviewSpec{Namespace: "default"}}, metav1.CreateOptions{})
	if err != nil || !rules.Status.Incomplete {
		t.Errorf("the rules of a node are %+v, %v", rules, err)
	}
}
