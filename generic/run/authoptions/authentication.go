package authoptions

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Authentication configures authentication.
type Authentication struct {
	// Anonymous enables anonymous requests. If nil, the configuration file decides, and otherwise the
	// authorization mode.
	Anonymous *bool
	// ConfigFile is an AuthenticationConfiguration.
	ConfigFile     string
	OIDC           OIDC
	APIAudiences   []string
	ClientCAFile   string
	TokenFile      string
	BootstrapToken bool
	RequestHeader  RequestHeader
	ServiceAccount ServiceAccount
	Webhook        TokenWebhook
}

// TokenWebhook configures the webhook that authenticates bearer tokens.
type TokenWebhook struct {
	ConfigFile string
	Version    string
	CacheTTL   time.Duration
}

// RequestHeader configures the headers by which a front proxy passes the user.
type RequestHeader struct {
	ClientCAFile        string
	AllowedNames        []string
	UsernameHeaders     []string
	UIDHeaders          []string
	GroupHeaders        []string
	ExtraHeaderPrefixes []string
}

// NewAuthentication returns the defaults.
func NewAuthentication() *Authentication {
	return &Authentication{
		OIDC:           newOIDC(),
		ServiceAccount: ServiceAccount{Lookup: true, ExtendTokenExpiration: true},
		Webhook:        TokenWebhook{Version: "v1beta1", CacheTTL: 2 * time.Minute},
	}
}

// AddFlags binds the flags.
func (o *Authentication) AddFlags(fs *pflag.FlagSet) {
	flag := fs.VarPF(optionalBool{&o.Anonymous}, "anonymous-auth", "",
		"Authenticate requests without a credential as system:anonymous, in the group system:unauthenticated. If "+
			"blank, this is enabled unless --authorization-mode includes AlwaysAllow.")
	flag.NoOptDefVal = "true"
	fs.StringVar(&o.ConfigFile, "authentication-config", o.ConfigFile,
		"File with an AuthenticationConfiguration: issuers of JSON Web Tokens, and the paths that allow "+
			"anonymous requests. It is reloaded when it changes. It excludes the flags that it replaces: --oidc-* if "+
			"it has issuers, --anonymous-auth if it has anonymous.")
	o.OIDC.addFlags(fs)
	fs.StringSliceVar(&o.APIAudiences, "api-audiences", o.APIAudiences,
		"Audiences of the API. A service account token must have one of them. If blank, the issuers.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"File with the CAs of client certificates: the common name is the user, organizations are groups. If "+
			"blank, a generated CA, which also issues admin.kubeconfig.")
	fs.StringVar(&o.TokenFile, "token-auth-file", o.TokenFile,
		"File with static tokens, one per line: token,user,uid,\"group,group\".")
	fs.BoolVar(&o.BootstrapToken, "enable-bootstrap-token-auth", o.BootstrapToken,
		"Authenticate bootstrap tokens: Secrets of type bootstrap.kubernetes.io/token in kube-system.")

	fs.StringVar(&o.Webhook.ConfigFile, "authentication-token-webhook-config-file", o.Webhook.ConfigFile,
		"Kubeconfig of the webhook that authenticates tokens which no other authenticator accepts.")
	fs.StringVar(&o.Webhook.Version, "authentication-token-webhook-version", o.Webhook.Version,
		"The version of TokenReview that the webhook expects: v1 or v1beta1.")
	fs.DurationVar(&o.Webhook.CacheTTL, "authentication-token-webhook-cache-ttl", o.Webhook.CacheTTL,
		"How long to cache responses of the webhook.")

	o.RequestHeader.addFlags(fs, "If blank, a generated authority.")
	o.ServiceAccount.addFlags(fs)
}

// Validate returns an error for each invalid value.
func (o *Authentication) Validate() []error {
	errs := append(o.ServiceAccount.validate(), o.OIDC.validate()...)
	return append(errs, validateRequestHeader(o.RequestHeader, o.ClientCAFile)...)
}

func (h *RequestHeader) addFlags(fs *pflag.FlagSet, without string) {
	fs.StringVar(&h.ClientCAFile, "requestheader-client-ca-file", h.ClientCAFile,
		"File with the certificate authorities (CAs) of front proxies, whose --requestheader-username-headers "+
			"are trusted. "+without)
	fs.StringSliceVar(&h.AllowedNames, "requestheader-allowed-names", h.AllowedNames,
		"Common names of client certificates of front proxies. If blank, any.")
	fs.StringSliceVar(&h.UsernameHeaders, "requestheader-username-headers", h.UsernameHeaders,
		"Headers with the user name, commonly X-Remote-User.")
	fs.StringSliceVar(&h.UIDHeaders, "requestheader-uid-headers", h.UIDHeaders,
		"Headers with the user's UID, commonly X-Remote-Uid.")
	fs.StringSliceVar(&h.GroupHeaders, "requestheader-group-headers", h.GroupHeaders,
		"Headers with the user's groups, commonly X-Remote-Group.")
	fs.StringSliceVar(&h.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", h.ExtraHeaderPrefixes,
		"Prefixes of headers with the user's extra attributes, commonly X-Remote-Extra-.")
}

func validateRequestHeader(h RequestHeader, clientCAFile string) (errs []error) {
	if h.ClientCAFile != "" && len(h.UsernameHeaders) == 0 {
		errs = append(errs,
			fmt.Errorf("--requestheader-client-ca-file needs --requestheader-username-headers, for example "+
				"X-Remote-User"))
	}
	if h.ClientCAFile != "" && h.ClientCAFile == clientCAFile && len(h.AllowedNames) == 0 {
		errs = append(errs,
			fmt.Errorf("--requestheader-client-ca-file and --client-ca-file are the same file, so "+
				"--requestheader-allowed-names must name the proxies: otherwise every client could impersonate any "+
				"user"))
	}
	return errs
}
