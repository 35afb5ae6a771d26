package jwt

import (
	"strings"
	"testing"

	"triplane.dev/generic/guard/authentication/jwt/jwttest"
)

func TestCompile(t *testing.T) {
	issuer := jwttest.New(t)
	for want, edit := range map[string]func(*Authenticator){
		`jwt[0].issuer.url: Required value`:                              func(a *Authenticator) { a.Issuer.URL = "" },
		`jwt[0].issuer.url: Invalid value: "http://x": URL scheme`:       func(a *Authenticator) { a.Issuer.URL = "http://x" },
		`URL must not contain a username or password`:                    func(a *Authenticator) { a.Issuer.URL = "https://u:p@x" },
		`URL must not contain a query`:                                   func(a *Authenticator) { a.Issuer.URL = "https://x?y" },
		`URL must not contain a fragment`:                                func(a *Authenticator) { a.Issuer.URL = "https://x#y" },
		`URL must not overlap with disallowed issuers`:                   func(a *Authenticator) { a.Issuer.URL = "https://own" },
		`jwt[0].issuer.discoveryURL: Invalid value`:                      func(a *Authenticator) { a.Issuer.DiscoveryURL = a.Issuer.URL + "/" },
		`jwt[0].issuer.audiences: Required value`:                        func(a *Authenticator) { a.Issuer.Audiences = nil },
		`jwt[0].issuer.audiences[1]: Duplicate value`:                    func(a *Authenticator) { a.Issuer.Audiences = []string{"a", "a"} },
		`audienceMatchPolicy must be MatchAny for multiple`:              func(a *Authenticator) { a.Issuer.Audiences = []string{"a", "b"} },
		`audienceMatchPolicy must be empty or MatchAny`:                  func(a *Authenticator) { a.Issuer.AudienceMatchPolicy = "x" },
		`jwt[0].issuer.certificateAuthority: Invalid value: "<omitted>"`: func(a *Authenticator) { a.Issuer.CertificateAuthority = "x" },
		`jwt[0].issuer.egressSelectorType: Unsupported value: "x"`:       func(a *Authenticator) { a.Issuer.EgressSelectorType = "x" },
		`no egress selector is configured`:                               func(a *Authenticator) { a.Issuer.EgressSelectorType = "cluster" },
		`jwt[0].claimValidationRules[0]: Required value`:                 func(a *Authenticator) { a.ClaimValidationRules = []ClaimValidationRule{{}} },
		`claim and expression can't both be set`: func(a *Authenticator) {
			a.ClaimValidationRules = []ClaimValidationRule{{Claim: "a", Expression: "true"}}
		},
		`jwt[0].claimValidationRules[0].message: Invalid value`: func(a *Authenticator) { a.ClaimValidationRules = []ClaimValidationRule{{Claim: "a", Message: "m"}} },
		`requiredValue can't be set when expression is set`: func(a *Authenticator) {
			a.ClaimValidationRules = []ClaimValidationRule{{Expression: "true", RequiredValue: "v"}}
		},
		`must evaluate to bool, not to string`:              func(a *Authenticator) { a.ClaimValidationRules = []ClaimValidationRule{{Expression: "'a'"}} },
		`must evaluate to bool, not to google.protobuf.Any`: func(a *Authenticator) { a.ClaimValidationRules = []ClaimValidationRule{{Expression: "claims.a"}} },
		`expression of type 'any' cannot be range of a comprehension`: func(a *Authenticator) {
			a.ClaimValidationRules = []ClaimValidationRule{{Expression: "claims.groups.all(g, g != 'a')"}}
		},
		`claims.x.map(x, x)": compilation failed`:              func(a *Authenticator) { a.ClaimMappings.Groups.Expression = "claims.x.map(x, x)" },
		`undeclared reference to 'user'`:                       func(a *Authenticator) { a.ClaimValidationRules = []ClaimValidationRule{{Expression: "user.x"}} },
		`jwt[0].claimMappings.username: Required value`:        func(a *Authenticator) { a.ClaimMappings.Username = PrefixedClaimOrExpression{} },
		`jwt[0].claimMappings.username.prefix: Required value`: func(a *Authenticator) { a.ClaimMappings.Username.Prefix = nil },
		`prefix can't be set when expression is set`: func(a *Authenticator) {
			a.ClaimMappings.Username = PrefixedClaimOrExpression{Expression: "'a'", Prefix: ptr("")}
		},
		`jwt[0].claimMappings.groups.expression: Invalid value`: func(a *Authenticator) { a.ClaimMappings.Groups.Expression = "[1]" },
		`claims.email_verified must be used`: func(a *Authenticator) {
			a.ClaimMappings.Username = PrefixedClaimOrExpression{Expression: `claims["email"]`}
		},
		`jwt[0].claimMappings.extra[0].key: Required value`:                 extra("", "'a'"),
		`key must be lowercase`:                                             extra("example.org/Foo", "'a'"),
		`must be a domain-prefixed path`:                                    extra("foo", "'a'"),
		`k8s.io, kubernetes.io and their subdomains are reserved`:           extra("a.kubernetes.io/foo", "'a'"),
		`jwt[0].claimMappings.extra[0].valueExpression: Required value`:     extra("example.org/foo", ""),
		`jwt[0].userValidationRules[0].expression: Required value`:          func(a *Authenticator) { a.UserValidationRules = []UserValidationRule{{}} },
		`jwt[0].userValidationRules[0].expression: Invalid value: "user.x"`: func(a *Authenticator) { a.UserValidationRules = []UserValidationRule{{Expression: "user.x"}} },
	} {
		_, errs := Compile(plain(issuer, edit), []string{"https://own"}, Egress{})
		if err := errs.ToAggregate(); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
	ok := plain(issuer, func(a *Authenticator) {
		a.ClaimMappings.Username = PrefixedClaimOrExpression{Expression: "claims.email"}
		a.ClaimValidationRules = []ClaimValidationRule{{Expression: "claims.?email_verified.orValue(true) == true"}}
	})
	if _, errs := Compile(ok, nil, Egress{}); len(errs) > 0 {
		t.Error(errs.ToAggregate())
	}
	twice := plain(issuer, nil)
	twice.JWT = append(twice.JWT, twice.JWT...)
	if _, errs := Compile(twice, nil, Egress{}); errs.ToAggregate() == nil || !strings.Contains(errs.ToAggregate().Error(), "jwt[1].issuer.url: Duplicate value") {
		t.Error(errs.ToAggregate())
	}
	twice.JWT = make([]Authenticator, maxAuthenticators+1)
	if _, errs := Compile(twice, nil, Egress{}); len(errs) != 1 {
		t.Error(errs.ToAggregate())
	}
}

func extra(key, expression string) func(*Authenticator) {
	return func(a *Authenticator) { a.ClaimMappings.Extra = []ExtraMapping{{key, expression}} }
}

func TestDecode(t *testing.T) {
	const good = "apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nanonymous: {enabled: false}\njwt:\n- issuer: {url: https://x, audiences: [a]}\n"
	c, err := Decode([]byte(good))
	if err != nil || c.Anonymous.Enabled || c.JWT[0].Issuer.URL != "https://x" {
		t.Fatalf("%+v %v", c, err)
	}
	for _, version := range []string{"v1beta1", "v1alpha1"} {
		if _, err := Decode([]byte(strings.Replace(good, "/v1", "/"+version, 1))); err != nil {
			t.Error(err)
		}
	}
	for want, text := range map[string]string{
		`no kind "X"`:                     strings.Replace(good, "AuthenticationConfiguration", "X", 1),
		`for version "v1"`:                strings.Replace(good, "apiserver.config.k8s.io/v1", "v1", 1),
		`unknown field "jwt[0].issuer.x"`: strings.Replace(good, "url: https://x", "url: https://x, x: y", 1),
		`unknown field "JWT"`:             good + "JWT: []\n",
		`already set`:                     good + "jwt: []\n",
		`did not find`:                    good + "x: [\n",
	} {
		if _, err := Decode([]byte(text)); err == nil {
			t.Errorf("%s: taken", want)
		} else if !strings.Contains(err.Error(), want) {
			t.Errorf("%s: got %v", want, err)
		}
	}
}

func TestEgressMayBeOff(t *testing.T) {
	c := plain(jwttest.New(t), func(a *Authenticator) { a.Issuer.EgressSelectorType = "cluster" })
	const want = "egress selector is not supported when StructuredAuthenticationConfigurationEgressSelector feature gate is disabled"
	if _, errs := Compile(c, nil, Egress{Off: true}); len(errs) != 1 || !strings.Contains(errs[0].Error(), want) {
		t.Errorf("%v, want %s", errs, want)
	}
}
