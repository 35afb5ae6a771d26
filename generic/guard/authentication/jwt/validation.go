package jwt

import (
	"crypto/x509"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"github.com/google/cel-go/cel"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/egress"
)

const (
	maxAuthenticators = 64
	matchAny          = "MatchAny"
	atLeastOne        = "at least one audience is required"
)

var (
	stringOrList = []*cel.Type{cel.StringType, cel.ListType(cel.StringType)}
	boolean      = []*cel.Type{cel.BoolType}
)

// Compiled is a valid configuration with compiled expressions.
type Compiled struct {
	Anonymous *Anonymous
	rules     []*rules
}

// Authenticates reports whether there are JWT authenticators.
func (c *Compiled) Authenticates() bool { return len(c.rules) > 0 }

// Egress configures the connections to issuers with an egress selector.
type Egress struct {
	// Selector may be nil.
	Selector *egress.Selector
	// Off rejects issuers with an egress selector (gate StructuredAuthenticationConfigurationEgressSelector).
	Off bool
}

// Compile validates a configuration and compiles its expressions. disallowed are the issuers of service account
// tokens, which no JWT authenticator may have. e connects to issuers with an egress selector.
func Compile(c *Configuration, disallowed []string, e Egress) (*Compiled, field.ErrorList) {
	v := &validator{disallowed: disallowed, egress: e, issuers: sets.New[string](), discoveries: sets.New[string]()}
	root := field.NewPath("jwt")
	if len(c.JWT) > maxAuthenticators {
		return nil, field.ErrorList{field.TooMany(root, len(c.JWT), maxAuthenticators)}
	}
	done := &Compiled{Anonymous: c.Anonymous}
	for i := range c.JWT {
		done.rules = append(done.rules, v.authenticator(root.Index(i), &c.JWT[i]))
	}
	v.anonymous(field.NewPath("anonymous"), c.Anonymous)
	if len(v.errs) > 0 {
		return nil, v.errs
	}
	return done, nil
}

// validator collects errors, and the values that must be unique.
type validator struct {
	disallowed           []string
	egress               Egress
	issuers, discoveries sets.Set[string]
	errs                 field.ErrorList
}

func (v *validator) add(err *field.Error) { v.errs = append(v.errs, err) }

func (v *validator) anonymous(path *field.Path, a *Anonymous) {
	if a == nil {
		return
	}
	if !a.Enabled && len(a.Conditions) > 0 {
		v.add(field.Invalid(path.Child("conditions"), a.Conditions,
			"enabled should be set to true when conditions are defined"))
	}
	for i, c := range a.Conditions {
		if c.Path == "" {
			v.add(field.Required(path.Child("conditions").Index(i).Child("path"), "path is required"))
		}
	}
}

func (v *validator) authenticator(path *field.Path, a *Authenticator) *rules {
	r := &rules{issuer: a.Issuer}
	v.issuer(path.Child("issuer"), &a.Issuer, r)
	v.claimRules(path.Child("claimValidationRules"), a.ClaimValidationRules, r)
	v.mappings(path.Child("claimMappings"), &a.ClaimMappings, r)
	v.emailVerified(path.Child("claimMappings", "username", "expression"), r)
	v.userRules(path.Child("userValidationRules"), a.UserValidationRules, r)
	return r
}

func (v *validator) issuer(path *field.Path, i *Issuer, r *rules) {
	v.url(path.Child("url"), i.URL)
	switch {
	case i.URL == "":
	case v.issuers.Has(i.URL):
		v.add(field.Duplicate(path.Child("url"), i.URL))
	case slices.Contains(v.disallowed, i.URL):
		v.add(field.Invalid(path.Child("url"), i.URL, fmt.Sprintf("URL must not overlap with disallowed issuers: %s",
			v.disallowed)))
	}
	v.issuers.Insert(i.URL)
	if i.DiscoveryURL != "" {
		v.url(path.Child("discoveryURL"), i.DiscoveryURL)
		if strings.TrimSuffix(i.DiscoveryURL, "/") == strings.TrimSuffix(i.URL, "/") {
			v.add(field.Invalid(path.Child("discoveryURL"), i.DiscoveryURL, "discoveryURL must be different from URL"))
		}
		if v.discoveries.Has(i.DiscoveryURL) {
			v.add(field.Duplicate(path.Child("discoveryURL"), i.DiscoveryURL))
		}
		v.discoveries.Insert(i.DiscoveryURL)
	}
	v.audiences(path, i)
	if i.CertificateAuthority != "" {
		r.roots = x509.NewCertPool()
		if !r.roots.AppendCertsFromPEM([]byte(i.CertificateAuthority)) {
			v.add(field.Invalid(path.Child("certificateAuthority"), "<omitted>",
				"data does not contain any valid RSA or ECDSA certificates"))
		}
	}
	r.dial = v.dial(path.Child("egressSelectorType"), i.EgressSelectorType)
}

// dial returns the dialer of an egress selector type; nil connects directly.
func (v *validator) dial(path *field.Path, kind string) egress.Dial {
	switch {
	case kind == "":
		return nil
	case v.egress.Off:
		v.add(field.Invalid(path, kind,
			"egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled"))
		return nil
	case kind != "controlplane" && kind != "cluster":
		v.add(field.NotSupported(path, kind, []string{"controlplane", "cluster"}))
	case v.egress.Selector == nil:
		v.add(field.Invalid(path, kind, "no egress selector is configured at this server"))
	case kind == "cluster":
		return v.egress.Selector.DialCluster
	}
	return v.egress.Selector.DialControlPlane
}

func (v *validator) url(path *field.Path, text string) {
	if text == "" {
		v.add(field.Required(path, "URL is required"))
		return
	}
	u, err := url.Parse(text)
	if err != nil {
		v.add(field.Invalid(path, text, err.Error()))
		return
	}
	for _, wrong := range []struct {
		is  bool
		why string
	}{
		{u.Scheme != "https", "URL scheme must be https"},
		{u.Host == "", "URL must have a host"},
		{u.User != nil, "URL must not contain a username or password"},
		{u.RawQuery != "" || u.ForceQuery, "URL must not contain a query"},
		{u.Fragment != "", "URL must not contain a fragment"},
	} {
		if wrong.is {
			v.add(field.Invalid(path, text, wrong.why))
		}
	}
}

func (v *validator) audiences(path *field.Path, i *Issuer) {
	if len(i.Audiences) == 0 {
		v.add(field.Required(path.Child("audiences"), atLeastOne))
	}
	seen := sets.New[string]()
	for n, a := range i.Audiences {
		at := path.Child("audiences").Index(n)
		if a == "" {
			v.add(field.Required(at, "audience can't be empty"))
		}
		if seen.Has(a) {
			v.add(field.Duplicate(at, a))
		}
		seen.Insert(a)
	}
	at := path.Child("audienceMatchPolicy")
	switch {
	case len(i.Audiences) > 1 && i.AudienceMatchPolicy != matchAny:
		v.add(field.Invalid(at, i.AudienceMatchPolicy, "audienceMatchPolicy must be MatchAny for multiple audiences"))
	case len(i.Audiences) == 1 && i.AudienceMatchPolicy != "" && i.AudienceMatchPolicy != matchAny:
		v.add(field.Invalid(at, i.AudienceMatchPolicy, "audienceMatchPolicy must be empty or MatchAny for single audience"))
	}
}

// compile compiles an expression. On failure it adds a validation error and returns nil.
func (v *validator) compile(path *field.Path, variable, source string, want ...*cel.Type) *expression {
	e, err := compile(variable, source, want...)
	if err != nil {
		v.add(field.Invalid(path, source, err.Error()))
	}
	return e
}

func (v *validator) claimRules(path *field.Path, list []ClaimValidationRule, r *rules) {
	claims, expressions := sets.New[string](), sets.New[string]()
	for i, c := range list {
		at := path.Index(i)
		switch {
		case c.Claim == "" && c.Expression == "":
			v.add(field.Required(at, "claim or expression is required"))
		case c.Claim != "" && c.Expression != "":
			v.add(field.Invalid(at, c.Claim, "claim and expression can't both be set"))
		case c.Claim != "":
			if c.Message != "" {
				v.add(field.Invalid(at.Child("message"), c.Message, "message can't be set when claim is set"))
			}
			if claims.Has(c.Claim) {
				v.add(field.Duplicate(at.Child("claim"), c.Claim))
			}
			claims.Insert(c.Claim)
			r.required = append(r.required, requiredClaim{c.Claim, c.RequiredValue})
		default:
			if c.RequiredValue != "" {
				v.add(field.Invalid(at.Child("requiredValue"), c.RequiredValue,
					"requiredValue can't be set when expression is set"))
			}
			if expressions.Has(c.Expression) {
				v.add(field.Duplicate(at.Child("expression"), c.Expression))
			}
			expressions.Insert(c.Expression)
			e := v.compile(at.Child("expression"), claimsVariable, c.Expression, boolean...)
			r.claimRules = append(r.claimRules, rule{e, c.Message})
		}
	}
}

func (v *validator) userRules(path *field.Path, list []UserValidationRule, r *rules) {
	seen := sets.New[string]()
	for i, u := range list {
		at := path.Index(i).Child("expression")
		if u.Expression == "" {
			v.add(field.Required(at, "expression is required"))
			continue
		}
		if seen.Has(u.Expression) {
			v.add(field.Duplicate(at, u.Expression))
		}
		seen.Insert(u.Expression)
		r.userRules = append(r.userRules, rule{v.compile(at, userVariable, u.Expression, boolean...), u.Message})
	}
}

func (v *validator) mappings(path *field.Path, m *ClaimMappings, r *rules) {
	if m.Username.Claim == "" && m.Username.Expression == "" {
		v.add(field.Required(path.Child("username"), "claim or expression is required"))
	}
	r.username = v.mapping(path.Child("username"), m.Username, cel.StringType)
	r.groups = v.mapping(path.Child("groups"), m.Groups, stringOrList...)
	none := ""
	uid := PrefixedClaimOrExpression{Claim: m.UID.Claim, Expression: m.UID.Expression}
	if uid.Claim != "" {
		uid.Prefix = &none
	}
	r.uid = v.mapping(path.Child("uid"), uid, cel.StringType)
	seen := sets.New[string]()
	for i, e := range m.Extra {
		at := path.Child("extra").Index(i)
		v.extraKey(at.Child("key"), e.Key)
		if seen.Has(e.Key) {
			v.add(field.Duplicate(at.Child("key"), e.Key))
		}
		seen.Insert(e.Key)
		if e.ValueExpression == "" {
			v.add(field.Required(at.Child("valueExpression"), "valueExpression is required"))
			continue
		}
		r.extra = append(r.extra, extraRule{e.Key, v.compile(at.Child("valueExpression"), claimsVariable, e.ValueExpression,
			stringOrList...)})
	}
}

func (v *validator) mapping(path *field.Path, p PrefixedClaimOrExpression, want ...*cel.Type) source {
	switch {
	case p.Claim != "" && p.Expression != "":
		v.add(field.Invalid(path, "", "claim and expression can't both be set"))
	case p.Expression != "":
		if p.Prefix != nil {
			v.add(field.Invalid(path.Child("prefix"), *p.Prefix, "prefix can't be set when expression is set"))
		}
		return source{expression: v.compile(path.Child("expression"), claimsVariable, p.Expression, want...)}
	case p.Claim != "":
		if p.Prefix == nil {
			v.add(field.Required(path.Child("prefix"),
				"prefix is required when claim is set. It can be set to an empty string to disable prefixing"))
			return source{}
		}
		return source{claim: p.Claim, prefix: *p.Prefix}
	}
	return source{}
}

// extraKey validates the key of an extra attribute. It must have a domain prefix that is not reserved by
// Kubernetes.
func (v *validator) extraKey(path *field.Path, key string) {
	if key == "" {
		v.add(field.Required(path, "key is required"))
		return
	}
	v.errs = append(v.errs, validation.IsDomainPrefixedPath(path, key)...)
	if key != strings.ToLower(key) {
		v.add(field.Invalid(path, key, "key must be lowercase"))
	}
	domain, _, _ := strings.Cut(key, "/")
	for _, reserved := range []string{"k8s.io", "kubernetes.io"} {
		if domain == reserved || strings.HasSuffix(domain, "."+reserved) {
			v.add(field.Invalid(path, key, "k8s.io, kubernetes.io and their subdomains are reserved for Kubernetes use"))
		}
	}
}

// emailVerified requires expressions to check claims.email_verified if the user name depends on claims.email.
// Otherwise users of some issuers could claim the address of another user.
func (v *validator) emailVerified(path *field.Path, r *rules) {
	e := r.username.expression
	if e == nil || !e.uses("email") {
		return
	}
	all := []*expression{e}
	for _, c := range r.claimRules {
		all = append(all, c.expression)
	}
	for _, x := range r.extra {
		all = append(all, x.value)
	}
	for _, other := range all {
		if other != nil && other.uses("email_verified") {
			return
		}
	}
	v.add(field.Invalid(path, e.source,
		"claims.email_verified must be used in claimMappings.username.expression or claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is used in claimMappings.username.expression"))
}

// SetAlgorithms restricts the signature algorithms of tokens to names, a subset of Algorithms.
func (c *Compiled) SetAlgorithms(names []string) {
	for _, r := range c.rules {
		r.algorithms = names
	}
}

// Algorithms returns all supported signature algorithms.
func Algorithms() []string { return slices.Clone(allAlgorithms) }
