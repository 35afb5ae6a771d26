package authoptions

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/guard/authentication/serviceaccount/external"
)

// ServiceAccount configures how service account tokens are issued and verified.
type ServiceAccount struct {
	Issuers               []string
	KeyFiles              []string
	SigningKeyFile        string
	JWKSURI               string
	Lookup                bool
	MaxExpiration         time.Duration
	ExtendTokenExpiration bool
	// SigningEndpoint is the socket of an external signer, which replaces keys.
	SigningEndpoint string
}

// extendedExpiration is the lifetime of pods' tokens with ExtendTokenExpiration.
const extendedExpiration = 365 * 24 * time.Hour

func (s *ServiceAccount) addFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&s.Issuers, "service-account-issuer", s.Issuers,
		"The issuer (\"iss\") of service account tokens, a URL. May be repeated: new tokens have the first, all "+
			"are accepted. If blank, https://kubernetes.default.svc.cluster.local.")
	fs.StringArrayVar(&s.KeyFiles, "service-account-key-file", s.KeyFiles,
		"File with keys that verify service account tokens. May be repeated. If blank, the key of "+
			"--service-account-signing-key-file.")
	fs.StringVar(&s.SigningKeyFile, "service-account-signing-key-file", s.SigningKeyFile,
		"File with the key that signs service account tokens. If blank, a generated key.")
	fs.StringVar(&s.JWKSURI, "service-account-jwks-uri", s.JWKSURI,
		"The URL of the keys (JWKS) for relying parties. If blank, this server's.")
	fs.BoolVar(&s.Lookup, "service-account-lookup", s.Lookup,
		"Reject tokens of deleted service accounts.")
	fs.DurationVar(&s.MaxExpiration, "service-account-max-token-expiration", s.MaxExpiration,
		"The maximum lifetime of tokens; longer requests are shortened. 0 means no limit.")
	fs.BoolVar(&s.ExtendTokenExpiration, "service-account-extend-token-expiration", s.ExtendTokenExpiration,
		"Extend the lifetime of tokens that are projected into pods to a year, and warn if they are used after "+
			"the requested lifetime.")
	fs.StringVar(&s.SigningEndpoint, "service-account-signing-endpoint", s.SigningEndpoint,
		"Path of the socket of an external signer of service account tokens (k8s.io/externaljwt); a leading "+
			"\"@\" means an abstract socket. At start the server waits up to a minute for the signer. It excludes "+
			"--service-account-signing-key-file and --service-account-key-file.")
}

// validate returns an error for each invalid value.
func (s *ServiceAccount) validate() []error {
	var errs []error
	for _, issuer := range s.Issuers {
		if strings.Contains(issuer, ":") {
			if _, err := url.Parse(issuer); err != nil {
				errs = append(errs, fmt.Errorf("--service-account-issuer %q contains a colon, but is not a URL: %w",
					issuer, err))
			}
		}
		if issuer == "" {
			errs = append(errs, fmt.Errorf("--service-account-issuer cannot be an empty string"))
		}
	}
	if len(s.KeyFiles) > 0 && s.SigningKeyFile == "" {
		errs = append(errs,
			fmt.Errorf("--service-account-key-file needs --service-account-signing-key-file: otherwise tokens are "+
				"signed with a generated key that is not among the verification keys"))
	}
	if m := s.MaxExpiration; m != 0 && (m < time.Hour || m > (1<<32)*time.Second) {
		errs = append(errs,
			fmt.Errorf("--service-account-max-token-expiration must be between 1 hour and 2^32 seconds"))
	}
	if s.JWKSURI != "" {
		if u, err := url.Parse(s.JWKSURI); err != nil {
			errs = append(errs, fmt.Errorf("--service-account-jwks-uri: %w", err))
		} else if u.Scheme != "https" {
			errs = append(errs,
				fmt.Errorf("--service-account-jwks-uri %q needs the scheme https", s.JWKSURI))
		}
	}
	if s.SigningEndpoint != "" && (s.SigningKeyFile != "" || len(s.KeyFiles) > 0) {
		errs = append(errs,
			errors.New("--service-account-signing-endpoint excludes --service-account-signing-key-file and "+
				"--service-account-key-file"))
	}
	return errs
}

// keys creates the signer and the verification keys of tokens.
func (s *ServiceAccount) keys(ctx context.Context, a *Authenticators, registry prometheus.Registerer) error {
	a.MaxTokenLifetime, a.ExtendedTokenLifetime = s.MaxExpiration, extendedExpiration
	if s.SigningEndpoint != "" {
		return s.externalKeys(ctx, a, registry)
	}
	key, err := serviceaccount.ReadPrivateKey(s.SigningKeyFile)
	if err != nil {
		return fmt.Errorf("--service-account-signing-key-file: %w", err)
	}
	if a.Signer, err = serviceaccount.NewSigner(key); err != nil {
		return fmt.Errorf("--service-account-signing-key-file: %w", err)
	}
	files := s.KeyFiles
	if len(files) == 0 {
		files = []string{s.SigningKeyFile}
	}
	keys, err := serviceaccount.ReadPublicKeys(files...)
	if err != nil {
		return fmt.Errorf("--service-account-key-file: %w", err)
	}
	a.Keys = serviceaccount.StaticKeys(keys)
	return nil
}

// externalKeys connects to the external signer, which bounds the lifetime of tokens.
func (s *ServiceAccount) externalKeys(ctx context.Context, a *Authenticators, registry prometheus.Registerer) error {
	var metrics *external.Metrics
	if registry != nil {
		metrics = external.NewMetrics(registry)
	}
	signer, err := external.Dial(ctx, s.SigningEndpoint, metrics)
	if err != nil {
		return fmt.Errorf("--service-account-signing-endpoint: %w", err)
	}
	a.closers = append(a.closers, signer.Close)
	if s.MaxExpiration > signer.MaxLifetime {
		return fmt.Errorf("--service-account-max-token-expiration %v is more than the %v that the external signer "+
			"allows", s.MaxExpiration, signer.MaxLifetime)
	}
	if s.MaxExpiration == 0 {
		a.MaxTokenLifetime = signer.MaxLifetime
	}
	a.ExtendedTokenLifetime = min(extendedExpiration, signer.MaxLifetime)
	a.Signer, a.Keys = signer, signer
	a.background = append(a.background, signer.Run)
	return nil
}

// authenticator returns the authenticator of service account tokens of some issuers.
func (s *ServiceAccount) authenticator(a *Authenticators, issuers []string, legacy string,
	lookups Lookups) authentication.Token {
	return serviceaccount.NewAuthenticator(serviceaccount.Config{
		Issuers: issuers, LegacyIssuer: legacy, Keys: a.Keys, Audiences: a.Audiences, Getter: lookups, Lookup: s.Lookup,
		RecordUse: lookups.RecordTokenUse, Metrics: a.parts.accounts,
	})
}

// NestedIssuers returns the issuers of service account tokens of a chain behind this one's filters; "" for path are
// this one's own.
func (s *ServiceAccount) NestedIssuers(path string) []string {
	issuers := make([]string, 0, len(s.Issuers))
	for _, issuer := range s.Issuers {
		issuers = append(issuers, strings.TrimSuffix(issuer, "/")+path)
	}
	if path == "" {
		return s.Issuers
	}
	return issuers
}

// NestedLegacyIssuer returns the issuer of tokens in the Secrets of such a chain.
func NestedLegacyIssuer(path string) string { return serviceaccount.LegacyIssuer + path }
