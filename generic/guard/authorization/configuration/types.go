package configuration

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/configfile"
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

// Types returns all types of authorizers.
func Types() []string { return []string{AlwaysAllow, AlwaysDeny, ABAC, Webhook, RBAC, Node} }

// Values of fields of webhooks.
const (
	NoOpinion       = "NoOpinion"
	Deny            = "Deny"
	KubeConfigFile  = "KubeConfigFile"
	InClusterConfig = "InClusterConfig"
)

// Configuration is an AuthorizationConfiguration. All versions have the same fields.
type Configuration struct {
	Authorizers []Authorizer `json:"authorizers"`
}

// Authorizer is one entry of the list. The order of the list is the order of evaluation.
type Authorizer struct {
	Type string `json:"type"`
	// Name identifies the authorizer in metrics. It is unique.
	Name    string                `json:"name"`
	Webhook *WebhookConfiguration `json:"webhook,omitempty"`
}

// WebhookConfiguration configures an authorizer of type Webhook.
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

// ConnectionInfo defines how to connect to a webhook.
type ConnectionInfo struct {
	Type           string  `json:"type"`
	KubeConfigFile *string `json:"kubeConfigFile,omitempty"`
}

// MatchCondition is a CEL expression. The webhook is only called if it is true.
type MatchCondition struct {
	Expression string `json:"expression"`
}

// versions are the supported versions of AuthorizationConfiguration.
var versions = []string{"v1", "v1beta1", "v1alpha1"}

// Decode decodes a configuration file and sets defaults.
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
