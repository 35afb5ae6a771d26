package authentication

import (
	"context"
	"crypto/subtle"
	"regexp"
	"slices"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/user"
)

const (
	bootstrapUserPrefix = "system:bootstrap:"
	bootstrapGroup      = "system:bootstrappers"
)

var (
	bootstrapToken = regexp.MustCompile(`\A([a-z0-9]{6})\.([a-z0-9]{16})\z`)
	bootstrapExtra = regexp.MustCompile(`\Asystem:bootstrappers:[a-z0-9:-]{0,255}[a-z0-9]\z`)
)

// SecretGetter returns a Secret of kube-system by name, or an error if it does not exist.
type SecretGetter func(ctx context.Context, name string) (*corev1.Secret, error)

// BootstrapToken authenticates bootstrap tokens, with which nodes join. They are Secrets in kube-system.
func BootstrapToken(secrets SecretGetter) Token {
	return TokenFunc(func(ctx context.Context, token string) (*Response, error) {
		match := bootstrapToken.FindStringSubmatch(token)
		if match == nil {
			return nil, nil
		}
		id, secret := match[1], match[2]
		s, err := secrets(ctx, "bootstrap-token-"+id)
		if err != nil || s == nil || !usableBootstrapSecret(s, id, secret, time.Now()) {
			// No error: the response must not reveal which token IDs exist.
			return nil, nil
		}
		groups, ok := bootstrapGroups(s)
		if !ok {
			return nil, nil
		}
		return &Response{User: &user.Info{Name: bootstrapUserPrefix + id, Groups: groups}}, nil
	})
}

func usableBootstrapSecret(s *corev1.Secret, id, secret string, now time.Time) bool {
	if s.DeletionTimestamp != nil || s.Type != "bootstrap.kubernetes.io/token" || len(s.Data["token-secret"]) == 0 {
		return false
	}
	if subtle.ConstantTimeCompare(s.Data["token-secret"], []byte(secret)) != 1 || string(s.Data["token-id"]) != id {
		return false
	}
	if end := string(s.Data["expiration"]); end != "" {
		t, err := time.Parse(time.RFC3339, end)
		if err != nil || !now.Before(t) {
			return false
		}
	}
	return string(s.Data["usage-bootstrap-authentication"]) == "true"
}

// bootstrapGroups returns the groups of a token, and false if one of them has not the prefix of bootstrap
// groups.
func bootstrapGroups(s *corev1.Secret) ([]string, bool) {
	groups := []string{bootstrapGroup}
	for _, g := range strings.Split(string(s.Data["auth-extra-groups"]), ",") {
		if g == "" {
			continue
		}
		if !bootstrapExtra.MatchString(g) {
			klog.InfoS("Ignored bootstrap token, a group does not have the required prefix", "secret", s.Name, "group", g)
			return nil, false
		}
		groups = append(groups, g)
	}
	slices.Sort(groups)
	return slices.Compact(groups), true
}
