package options

import (
	"fmt"
	"time"

	"github.com/spf13/pflag"
)

// Authentication is how clients say who they are.
type Authentication struct {
	// Anonymous is whether requests without credentials are served; nil leaves it
	// to the configuration file, and then to the authorization modes.
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

// TokenWebhook is a service that knows bearer tokens.
type TokenWebhook struct {
	ConfigFile string
	Version    string
	CacheTTL   time.Duration
}

// RequestHeader is how a front proxy says for whom it asks.
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
		"Take requests that bring no credential as coming from system:anonymous, in the group system:unauthenticated. On if blank, unless --authorization-mode has AlwaysAllow.")
	flag.NoOptDefVal = "true"
	fs.StringVar(&o.ConfigFile, "authentication-config", o.ConfigFile,
		"File with an AuthenticationConfiguration: issuers of JSON Web Tokens, and for which paths anonymous requests are served. It is read again when it changes. Issuers in it exclude --oidc-* flags, anonymous in it excludes --anonymous-auth.")
	o.OIDC.addFlags(fs)
	fs.StringSliceVar(&o.APIAudiences, "api-audiences", o.APIAudiences,
		"Names of the API, one of which a service account token must be meant for. The issuers if blank.")
	fs.StringVar(&o.ClientCAFile, "client-ca-file", o.ClientCAFile,
		"File with the authorities whose client certificates are accepted: the common name is the user, organizations are groups. If blank, a generated authority, with which admin.kubeconfig comes.")
	fs.StringVar(&o.TokenFile, "token-auth-file", o.TokenFile,
		"File with static tokens, a line each: token,user,uid,\"group,group\".")
	fs.BoolVar(&o.BootstrapToken, "enable-bootstrap-token-auth", o.BootstrapToken,
		"Accept secrets of type bootstrap.kubernetes.io/token in kube-system as tokens.")

	fs.StringVar(&o.Webhook.ConfigFile, "authentication-token-webhook-config-file", o.Webhook.ConfigFile,
		"File in kubeconfig format that says which service to ask for tokens that nobody here knows.")
	fs.StringVar(&o.Webhook.Version, "authentication-token-webhook-version", o.Webhook.Version,
		"The version of TokenReview to send to the service: v1 or v1beta1.")
	fs.DurationVar(&o.Webhook.CacheTTL, "authentication-token-webhook-cache-ttl", o.Webhook.CacheTTL,
		"How long to keep the service's answers.")

	o.RequestHeader.addFlags(fs, "If blank, a generated authority.")
	o.ServiceAccount.addFlags(fs)
}

// Validate returns what is wrong.
func (o *Authentication) Validate() []error {
	errs := append(o.ServiceAccount.validate(), o.OIDC.validate()...)
	return append(errs, validateRequestHeader(o.RequestHeader, o.ClientCAFile)...)
}

func (h *RequestHeader) addFlags(fs *pflag.FlagSet, without string) {
	fs.StringVar(&h.ClientCAFile, "requestheader-client-ca-file", h.ClientCAFile,
		"File with the authorities of front proxies, whose --requestheader-username-headers are believed. "+without)
	fs.StringSliceVar(&h.AllowedNames, "requestheader-allowed-names", h.AllowedNames,
		"Common names that a front proxy may have; any if blank.")
	fs.StringSliceVar(&h.UsernameHeaders, "requestheader-username-headers", h.UsernameHeaders, "Headers with the user name. X-Remote-User is common.")
	fs.StringSliceVar(&h.UIDHeaders, "requestheader-uid-headers", h.UIDHeaders, "Headers with the user's UID. X-Remote-Uid is common.")
	fs.StringSliceVar(&h.GroupHeaders, "requestheader-group-headers", h.GroupHeaders, "Headers with groups. X-Remote-Group is common.")
	fs.StringSliceVar(&h.ExtraHeaderPrefixes, "requestheader-extra-headers-prefix", h.ExtraHeaderPrefixes, "Prefixes of headers with other attributes. X-Remote-Extra- is common.")
}

func validateRequestHeader(h RequestHeader, clientCAFile string) (errs []error) {
	if h.ClientCAFile != "" && len(h.UsernameHeaders) == 0 {
		errs = append(errs, fmt.Errorf("--requestheader-client-ca-file needs --requestheader-username-headers, for example X-Remote-User"))
	}
	if h.ClientCAFile != "" && h.ClientCAFile == clientCAFile && len(h.AllowedNames) == 0 {
		errs = append(errs, fmt.Errorf("--requestheader-client-ca-file and --client-ca-file are the same file, so --requestheader-allowed-names must say who is a proxy: every client could call itself anybody"))
	}
	return errs
}
