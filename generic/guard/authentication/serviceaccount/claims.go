package serviceaccount

import (
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"triplane.dev/generic/base/user"
)

// Ref identifies an object in a token.
type Ref struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// Bound is the private claim "kubernetes.io": the service account, and the object that limits the token's
// validity. For a pod it also has the pod's node.
type Bound struct {
	Namespace      string           `json:"namespace,omitempty"`
	Node           *Ref             `json:"node,omitempty"`
	Pod            *Ref             `json:"pod,omitempty"`
	Secret         *Ref             `json:"secret,omitempty"`
	ServiceAccount Ref              `json:"serviceaccount,omitempty"`
	WarnAfter      *jwt.NumericDate `json:"warnafter,omitempty"`
}

// claims are the claims of a bound token.
type claims struct {
	jwt.Claims
	Kubernetes Bound `json:"kubernetes.io,omitempty"`
}

// issued are claims as they are signed. The audience is always a list: some consumers do not accept the string
// form (RFC 7519, section 4.1.3, allows both).
type issued struct {
	claims
	Audience []string `json:"aud,omitempty"`
}

// legacyClaims are the claims of a token in a Secret.
type legacyClaims struct {
	jwt.Claims
	Account   string `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret    string `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace string `json:"kubernetes.io/serviceaccount/namespace"`
}

// LegacyIssuer is the issuer of tokens in Secrets.
const LegacyIssuer = "kubernetes/serviceaccount"

// Request describes a token to issue.
type Request struct {
	Namespace string
	Account   Ref
	// At most one of Pod, Secret and Node binds the token. With Pod, Node is the pod's node.
	Pod, Secret, Node *Ref
	Audiences         []string
	Lifetime          time.Duration
	// WarnAfter, if positive, is the age at which the token is stale although it is still valid (extended
	// expiration).
	WarnAfter time.Duration
}

func (r *Request) claims(issuer, id string, now time.Time) claims {
	c := claims{
		Claims: jwt.Claims{
			ID:        id,
			Issuer:    issuer,
			Subject:   user.ServiceAccountName(r.Namespace, r.Account.Name),
			Audience:  r.Audiences,
			IssuedAt:  jwt.NewNumericDate(now),
			NotBefore: jwt.NewNumericDate(now),
			Expiry:    jwt.NewNumericDate(now.Add(r.Lifetime)),
		},
		Kubernetes: Bound{
			Namespace: r.Namespace, ServiceAccount: r.Account,
			Pod: r.Pod, Secret: r.Secret, Node: r.Node,
		},
	}
	if r.WarnAfter > 0 {
		c.Kubernetes.WarnAfter = jwt.NewNumericDate(now.Add(r.WarnAfter))
	}
	return c
}
