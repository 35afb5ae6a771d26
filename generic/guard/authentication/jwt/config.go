package jwt

import "triplane.dev/generic/base/configfile"

// Configuration is an AuthenticationConfiguration of apiserver.config.k8s.io. All versions have the same
// fields.
type Configuration struct {
	JWT       []Authenticator `json:"jwt"`
	Anonymous *Anonymous      `json:"anonymous,omitempty"`
}

// Anonymous configures anonymous requests.
type Anonymous struct {
	Enabled bool `json:"enabled"`
	// Conditions restrict anonymous requests to those that match one of them.
	Conditions []AnonymousCondition `json:"conditions,omitempty"`
}

// AnonymousCondition is a path that allows anonymous requests.
type AnonymousCondition struct {
	Path string `json:"path"`
}

// Authenticator configures the authentication of tokens of one issuer.
type Authenticator struct {
	Issuer               Issuer                `json:"issuer"`
	ClaimValidationRules []ClaimValidationRule `json:"claimValidationRules,omitempty"`
	ClaimMappings        ClaimMappings         `json:"claimMappings"`
	UserValidationRules  []UserValidationRule  `json:"userValidationRules,omitempty"`
}

// Issuer identifies the issuer of tokens, and their audiences.
type Issuer struct {
	URL string `json:"url"`
	// DiscoveryURL is the URL of the discovery document if it is not below URL.
	DiscoveryURL string `json:"discoveryURL,omitempty"`
	// CertificateAuthority is PEM. If empty, the system's authorities are used.
	CertificateAuthority string   `json:"certificateAuthority,omitempty"`
	Audiences            []string `json:"audiences"`
	AudienceMatchPolicy  string   `json:"audienceMatchPolicy,omitempty"`
	EgressSelectorType   string   `json:"egressSelectorType,omitempty"`
}

// ClaimValidationRule requires a claim to have a value, or an expression to be true.
type ClaimValidationRule struct {
	Claim         string `json:"claim,omitempty"`
	RequiredValue string `json:"requiredValue,omitempty"`
	Expression    string `json:"expression,omitempty"`
	Message       string `json:"message,omitempty"`
}

// ClaimMappings map claims to the attributes of a user.
type ClaimMappings struct {
	Username PrefixedClaimOrExpression `json:"username"`
	Groups   PrefixedClaimOrExpression `json:"groups,omitempty"`
	UID      ClaimOrExpression         `json:"uid,omitempty"`
	Extra    []ExtraMapping            `json:"extra,omitempty"`
}

// PrefixedClaimOrExpression is a claim whose values get a prefix, or a CEL expression.
type PrefixedClaimOrExpression struct {
	Claim      string  `json:"claim,omitempty"`
	Prefix     *string `json:"prefix,omitempty"`
	Expression string  `json:"expression,omitempty"`
}

// ClaimOrExpression is a claim or a CEL expression.
type ClaimOrExpression struct {
	Claim      string `json:"claim,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ExtraMapping is a CEL expression for the values of an extra key.
type ExtraMapping struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

// UserValidationRule is a CEL expression about the user that must be true.
type UserValidationRule struct {
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

// versions are the supported versions of AuthenticationConfiguration.
var versions = []string{"v1", "v1beta1", "v1alpha1"}

// Decode decodes a configuration file.
func Decode(raw []byte) (*Configuration, error) {
	c := &Configuration{}
	_, err := configfile.Decode(raw, "AuthenticationConfiguration", versions, c)
	return c, err
}
