package serviceaccount

import (
	"time"

	"github.com/go-jose/go-jose/v4/jwt"

	"triplane/generic/base/user"
)

// Ref names an object that a token is about.
type Ref struct {
	Name string `json:"name,omitempty"`
	UID  string `json:"uid,omitempty"`
}

// Bound is the private claim "kubernetes.io": whose the token is and what it
// exists and dies with. A pod's node is named beside the pod.
type Bound struct {
	Namespace      string           `json:"namespace,omitempty"`
	Node           *Ref             `json:"node,omitempty"`
	Pod            *Ref             `json:"pod,omitempty"`
	Secret         *Ref             `json:"secret,omitempty"`
	ServiceAccount Ref              `json:"serviceaccount,omitempty"`
	WarnAfter      *jwt.NumericDate `json:"warnafter,omitempty"`
}

// claims is all that a bound token says.
type claims struct {
	jwt.Claims
	Kubernetes Bound `json:"kubernetes.io,omitempty"`
}

// issued are claims as they are signed: the audience is a list even of one, since
// there are readers of tokens that know no other form (RFC 7519, section 4.1.3, has
// both).
type issued struct {
	claims
	Audience []string `json:"aud,omitempty"`
}

// legacyClaims is all that a token stored in a Secret says.
type legacyClaims struct {
	jwt.Claims
	Account   string `json:"kubernetes.io/serviceaccount/service-account.name"`
	UID       string `json:"kubernetes.io/serviceaccount/service-account.uid"`
	Secret    string `json:"kubernetes.io/serviceaccount/secret.name"`
	Namespace string `json:"kubernetes.io/serviceaccount/namespace"`
}

// LegacyIssuer is the issuer of tokens stored in Secrets.
const LegacyIssuer = "kubernetes/serviceaccount"

// Request is a token to be issued.
type Request struct {
	Namespace string
	Account   Ref
	// One of Pod, Secret and Node binds the token; a Pod's Node goes with it.
	Pod, Secret, Node *Ref
	Audiences         []string
	Lifetime          time.Duration
	// WarnAfter, where above 0, is when the token's use becomes stale although
	// it lives on (extended expiration).
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
