package configuration

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane/generic/base/configfile"
)

// Types of authorizers.
const (
	AlwaysAllow = "AlwaysAllow"
	AlwaysDeny  = "AlwaysDeny"
	ABAC        = "ABAC"
	Webhook     = "Webhook"
	RBAC        = "RBAC"
	Node        = "Node"
)

// Types returns the types of authorizers that there are.
func Types() []string { return []string{AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node} }

// Values of fields of webhooks.
const (
	NoOpinion       = "NoOpinion"
	Deny            = "Deny"
	KubeConfigFile  = "KubeConfigFile"
	InClusterConfig = "InClusterConfig"
)

// Configuration is an AuthorizationConfiguration, the same in all versions.
type Configuration struct {
	Authorizers []Authorizer `json:"authorizers"`
}

// Authorizer is one that is asked, in the order of the list.
type Authorizer struct {
	Type string `json:"type"`
	// Name distinguishes authorizers in metrics; it is unique.
	Name    string                `json:"name"`
	Webhook *WebhookConfiguration `json:"webhook,omitempty"`
}

// WebhookConfiguration is how a remote service is asked.
type WebhookConfiguration struct {
	AuthorizedTTL                            metav1.Duration  `json:"authorizedTTL,omitempty"`
	CacheAuthorizedRequests                  *bool            `json:"cacheAuthorizedRequests,omitempty"`
	UnauthorizedTTL                          metav1.Duration  `json:"unauthorizedTTL,omitempty"`
	CacheUnauthorizedRequests                *bool            `json:"cacheUnauthorizedRequests,omitempty"`
	Timeout                                  metav1.Duration  `json:"timeout"`
	SubjectAccessReviewVersion               string           `json:"subjectAccessReviewVersion"`
	MatchConditionSubjectAccessReviewVersion string           `json:"matchConditionSubjectAccessReviewVersion,omitempty"`
	FailurePolicy                            string           `json:"failurePolicy"`
	ConnectionInfo                           ConnectionInfo   `json:"connectionInfo"`
	MatchConditions                          []MatchCondition `json:"matchConditions,omitempty"`
}

// ConnectionInfo is where a service is.
type ConnectionInfo struct {
	Type           string  `json:"type"`
	KubeConfigFile *string `json:"kubeConfigFile,omitempty"`
}

// MatchCondition is an expression that must be true for the service to be asked.
type MatchCondition struct {
	Expression string `json:"expression"`
}

// versions of AuthorizationConfiguration that are read.
var versions = []string{"v1", "v1beta1", "v1alpha1"}

// Decode reads the content of a configuration file and fills in what it leaves open.
func Decode(raw []byte) (*Configuration, error) {
	c := &Configuration{}
	if _, err := configfile.Decode(raw, "AuthorizationConfiguration", versions, c); err != nil {
		return nil, err
	}
	for i := range c.Authorizers {
		if w := c.Authorizers[i].Webhook; w != nil {
			w.fill()
		}
	}
	return c, nil
}

// fill sets the defaults.
func (w *WebhookConfiguration) fill() {
	if w.AuthorizedTTL.Duration == 0 {
		w.AuthorizedTTL.Duration = 5 * time.Minute
	}
	if w.UnauthorizedTTL.Duration == 0 {
		w.UnauthorizedTTL.Duration = 30 * time.Second
	}
}
