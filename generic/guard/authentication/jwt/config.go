package jwt

import "triplane/generic/base/configfile"

// Configuration is an AuthenticationConfiguration of apiserver.config.k8s.io, the
// same in all versions.
type Configuration struct {
	JWT       []Authenticator `json:"jwt"`
	Anonymous *Anonymous      `json:"anonymous,omitempty"`
}

// Anonymous says whether requests without credentials are served.
type Anonymous struct {
	Enabled bool `json:"enabled"`
	// Conditions restrict anonymous requests to those that meet one of them.
	Conditions []AnonymousCondition `json:"conditions,omitempty"`
}

// AnonymousCondition is a path for which anonymous requests are served.
type AnonymousCondition struct {
	Path string `json:"path"`
}

// Authenticator is how the tokens of one issuer are authenticated.
type Authenticator struct {
	Issuer               Issuer                `json:"issuer"`
	ClaimValidationRules []ClaimValidationRule `json:"claimValidationRules,omitempty"`
	ClaimMappings        ClaimMappings         `json:"claimMappings"`
	UserValidationRules  []UserValidationRule  `json:"userValidationRules,omitempty"`
}

// Issuer is who signs tokens, and for whom.
type Issuer struct {
	URL string `json:"url"`
	// DiscoveryURL is where the discovery document is, if not below URL.
	DiscoveryURL string `json:"discoveryURL,omitempty"`
	// CertificateAuthority is PEM; the system's authorities if blank.
	CertificateAuthority string   `json:"certificateAuthority,omitempty"`
	Audiences            []string `json:"audiences"`
	AudienceMatchPolicy  string   `json:"audienceMatchPolicy,omitempty"`
	EgressSelectorType   string   `json:"egressSelectorType,omitempty"`
}

// ClaimValidationRule is a claim that must have a value, or an expression that must
// be true.
type ClaimValidationRule struct {
	Claim         string `json:"claim,omitempty"`
	RequiredValue string `json:"requiredValue,omitempty"`
	Expression    string `json:"expression,omitempty"`
	Message       string `json:"message,omitempty"`
}

// ClaimMappings make a user of claims.
type ClaimMappings struct {
	Username PrefixedClaimOrExpression `json:"username"`
	Groups   PrefixedClaimOrExpression `json:"groups,omitempty"`
	UID      ClaimOrExpression         `json:"uid,omitempty"`
	Extra    []ExtraMapping            `json:"extra,omitempty"`
}

// PrefixedClaimOrExpression is a claim whose values get a prefix, or an expression.
type PrefixedClaimOrExpression struct {
	Claim      string  `json:"claim,omitempty"`
	Prefix     *string `json:"prefix,omitempty"`
	Expression string  `json:"expression,omitempty"`
}

// ClaimOrExpression is a claim, or an expression.
type ClaimOrExpression struct {
	Claim      string `json:"claim,omitempty"`
	Expression string `json:"expression,omitempty"`
}

// ExtraMapping is an expression for the values of an extra key.
type ExtraMapping struct {
	Key             string `json:"key"`
	ValueExpression string `json:"valueExpression"`
}

// UserValidationRule is an expression about the user that must be true.
type UserValidationRule struct {
	Expression string `json:"expression"`
	Message    string `json:"message,omitempty"`
}

// versions of AuthenticationConfiguration that are read.
var versions = []string{"v1", "v1beta1", "v1alpha1"}

// Decode reads the content of a configuration file.
func Decode(raw []byte) (*Configuration, error) {
	c := &Configuration{}
	_, err := configfile.Decode(raw, "AuthenticationConfiguration", versions, c)
	return c, err
}
