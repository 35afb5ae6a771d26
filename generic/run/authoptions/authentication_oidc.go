package authoptions

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/client-go/util/cert"
	cliflag "k8s.io/component-base/cli/flag"

	"triplane.dev/generic/base/configfile"
	"triplane.dev/generic/guard/authentication/jwt"
)

// OIDC configures one issuer of JSON Web Tokens by flags.
type OIDC struct {
	IssuerURL, ClientID, CAFile   string
	UsernameClaim, UsernamePrefix string
	GroupsClaim, GroupsPrefix     string
	RequiredClaims                map[string]string
	SigningAlgorithms             []string
}

const defaultUsernameClaim = "sub"

func newOIDC() OIDC {
	return OIDC{UsernameClaim: defaultUsernameClaim, RequiredClaims: map[string]string{},
		SigningAlgorithms: []string{"RS256"}}
}

func (o *OIDC) addFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.IssuerURL, "oidc-issuer-url", o.IssuerURL,
		"The https URL of an OpenID Connect issuer whose ID tokens are accepted.")
	fs.StringVar(&o.ClientID, "oidc-client-id", o.ClientID,
		"The required audience of ID tokens. Needed with --oidc-issuer-url.")
	fs.StringVar(&o.CAFile, "oidc-ca-file", o.CAFile,
		"File with the CAs of the issuer's certificate. If blank, the system's CAs.")
	fs.StringVar(&o.UsernameClaim, "oidc-username-claim", o.UsernameClaim,
		"The claim with the user name.")
	fs.StringVar(&o.UsernamePrefix, "oidc-username-prefix", o.UsernamePrefix,
		"The prefix of user names. If blank, the issuer's URL and \"#\", or no prefix if the claim is email. "+
			"\"-\" disables the prefix.")
	fs.StringVar(&o.GroupsClaim, "oidc-groups-claim", o.GroupsClaim,
		"The claim with the user's groups: a string or a list of strings.")
	fs.StringVar(&o.GroupsPrefix, "oidc-groups-prefix", o.GroupsPrefix,
		"The prefix of groups.")
	fs.Var(cliflag.NewMapStringStringNoSplit(&o.RequiredClaims), "oidc-required-claim",
		"A claim=value that ID tokens must have. May be repeated.")
	fs.StringSliceVar(&o.SigningAlgorithms, "oidc-signing-algs", o.SigningAlgorithms,
		"The accepted signature algorithms of ID tokens, of: "+strings.Join(jwt.Algorithms(), ", ")+".")
}

func (o *OIDC) validate() []error {
	var errs []error
	if o.given() && (o.IssuerURL == "" || o.ClientID == "") {
		errs = append(errs, errors.New("--oidc-* flags need --oidc-issuer-url and --oidc-client-id"))
	}
	for _, a := range o.SigningAlgorithms {
		if !slices.Contains(jwt.Algorithms(), a) {
			errs = append(errs, fmt.Errorf("--oidc-signing-algs: %q is not one of %s", a,
				strings.Join(jwt.Algorithms(), ", ")))
		}
	}
	return errs
}

// given reports whether a flag is set that conflicts with the configuration file.
func (o *OIDC) given() bool {
	return o.IssuerURL != "" || o.ClientID != "" || o.CAFile != "" || o.UsernamePrefix != "" || o.GroupsClaim != "" ||
		o.GroupsPrefix != "" ||
		len(o.RequiredClaims) > 0 || o.UsernameClaim != defaultUsernameClaim
}

// configuration returns the flags as a configuration.
func (o *OIDC) configuration() (*jwt.Configuration, error) {
	if o.IssuerURL == "" {
		return &jwt.Configuration{}, nil
	}
	a := jwt.Authenticator{Issuer: jwt.Issuer{URL: o.IssuerURL, Audiences: []string{o.ClientID}}}
	if o.CAFile != "" {
		pem, err := os.ReadFile(o.CAFile)
		if err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %w", err)
		}
		if _, err := cert.ParseCertsPEM(pem); err != nil {
			return nil, fmt.Errorf("--oidc-ca-file: %s: %w", o.CAFile, err)
		}
		a.Issuer.CertificateAuthority = string(pem)
	}
	prefix := o.UsernamePrefix
	switch {
	case prefix == "-":
		prefix = ""
	case prefix == "" && o.UsernameClaim != "email":
		prefix = o.IssuerURL + "#"
	}
	a.ClaimMappings.Username = jwt.PrefixedClaimOrExpression{Claim: o.UsernameClaim, Prefix: &prefix}
	if o.GroupsClaim != "" {
		a.ClaimMappings.Groups = jwt.PrefixedClaimOrExpression{Claim: o.GroupsClaim, Prefix: &o.GroupsPrefix}
	}
	for claim, value := range o.RequiredClaims {
		a.ClaimValidationRules = append(a.ClaimValidationRules,
			jwt.ClaimValidationRule{Claim: claim, RequiredValue: value})
	}
	return &jwt.Configuration{JWT: []jwt.Authenticator{a}}, nil
}

// configured returns the authenticators of external issuers and the policy of anonymous requests, from the flags
// or the file.
func (o *Authentication) configured(a *Authenticators, in AuthenticationInputs) (*jwt.Configured, error) {
	first, raw, err := o.firstConfiguration(in.issuerEgress())
	if err != nil {
		return nil, err
	}
	var metrics *jwt.Metrics
	if in.Metrics != nil && (o.ConfigFile != "" || first.Authenticates()) {
		metrics = jwt.NewMetrics(in.Metrics, in.ServerID)
	}
	anonymous := !in.AlwaysAllowed
	if o.Anonymous != nil {
		anonymous = *o.Anonymous
	}
	configured := jwt.NewConfigured(first, anonymous, metrics)
	var follow func(context.Context)
	if o.ConfigFile != "" {
		follow = o.follow(configured, raw, in)
	}
	if follow != nil || first.Authenticates() {
		a.background = append(a.background, func(ctx context.Context) { configured.Run(ctx, follow) })
	}
	return configured, nil
}

// issuerEgress returns the egress settings that issuers may select.
func (in *AuthenticationInputs) issuerEgress() jwt.Egress {
	off := in.Features != nil && !in.Features("StructuredAuthenticationConfigurationEgressSelector")
	return jwt.Egress{Selector: in.Egress, Off: off}
}

// firstConfiguration compiles the flags, or the file, whose content it returns as well.
func (o *Authentication) firstConfiguration(e jwt.Egress) (*jwt.Compiled, []byte, error) {
	if o.ConfigFile == "" {
		c, err := o.compileFlags(e)
		return c, nil, err
	}
	raw, err := configfile.Read(o.ConfigFile)
	if err != nil {
		return nil, nil, fmt.Errorf("--authentication-config: %w", err)
	}
	c, err := o.compileFile(raw, e)
	if err != nil {
		return nil, nil, fmt.Errorf("--authentication-config: %w", err)
	}
	return c, raw, nil
}

func (o *Authentication) compileFlags(e jwt.Egress) (*jwt.Compiled, error) {
	c, err := o.OIDC.configuration()
	if err != nil {
		return nil, err
	}
	compiled, errs := jwt.Compile(c, o.ServiceAccount.Issuers, e)
	if len(errs) > 0 {
		return nil, fmt.Errorf("--oidc-* flags: %w", errs.ToAggregate())
	}
	compiled.SetAlgorithms(o.OIDC.SigningAlgorithms)
	return compiled, nil
}

// compileFile compiles the content of the configuration file. If it has no issuers, those of the flags apply.
func (o *Authentication) compileFile(raw []byte, e jwt.Egress) (*jwt.Compiled, error) {
	c, err := jwt.Decode(raw)
	if err != nil {
		return nil, fmt.Errorf("%s: %w", o.ConfigFile, err)
	}
	compiled, errs := jwt.Compile(c, o.ServiceAccount.Issuers, e)
	if c.Anonymous != nil && o.Anonymous != nil {
		errs = append(errs, field.Forbidden(field.NewPath("anonymous"), "conflicts with --anonymous-auth"))
	}
	if len(c.JWT) > 0 && o.OIDC.given() {
		errs = append(errs, field.Forbidden(field.NewPath("jwt"), "--oidc-* flags are given, which say the same"))
	}
	if err := errs.ToAggregate(); err != nil {
		return nil, fmt.Errorf("%s: %w", o.ConfigFile, err)
	}
	if len(c.JWT) == 0 {
		if compiled, err = o.compileFlags(e); err != nil {
			return nil, err
		}
		compiled.Anonymous = c.Anonymous
	}
	return compiled, nil
}

// follow returns a function that reloads the configuration file when it changes.
func (o *Authentication) follow(configured *jwt.Configured, raw []byte, in AuthenticationInputs) func(context.Context) {
	r := configfile.Reloader{Path: o.ConfigFile, Load: func(ctx context.Context, raw []byte) error {
		c, err := o.compileFile(raw, in.issuerEgress())
		if err != nil {
			return err
		}
		return configured.Replace(ctx, c)
	}}
	if in.Metrics != nil {
		r.Metrics = configfile.NewMetrics(in.Metrics, "authentication", in.ServerID)
	}
	return func(ctx context.Context) { r.Run(ctx, raw) }
}

// optionalBool is a flag that may be unset.
type optionalBool struct{ value **bool }

// Set implements pflag.Value.
func (o optionalBool) Set(text string) error {
	b, err := strconv.ParseBool(text)
	if err == nil {
		*o.value = &b
	}
	return err
}

// String implements pflag.Value.
func (o optionalBool) String() string {
	if o.value == nil || *o.value == nil {
		return ""
	}
	return strconv.FormatBool(**o.value)
}

// Type implements pflag.Value.
func (optionalBool) Type() string { return "bool" }
