package options

import (
	"context"
	"errors"
	"fmt"
	"net/url"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"

	"triplane/generic/guard/authentication"
	"triplane/generic/guard/authentication/serviceaccount"
	"triplane/generic/guard/authentication/serviceaccount/external"
)

// ServiceAccount is how tokens of service accounts are made and verified.
type ServiceAccount struct {
	Issuers               []string
	KeyFiles              []string
	SigningKeyFile        string
	JWKSURI               string
	Lookup                bool
	MaxExpiration         time.Duration
	ExtendTokenExpiration bool
	// SigningEndpoint is the socket of an external signer, instead of keys.
	SigningEndpoint string
}

// extendedExpiration is how long the tokens of pods live with ExtendTokenExpiration.
const extendedExpiration = 365 * 24 * time.Hour

func (s *ServiceAccount) addFlags(fs *pflag.FlagSet) {
	fs.StringArrayVar(&s.Issuers, "service-account-issuer", s.Issuers,
		"The issuer (\"iss\") of service account tokens, a URL. May be given several times: the first signs, all are accepted. If blank, https://kubernetes.default.svc.cluster.local.")
	fs.StringArrayVar(&s.KeyFiles, "service-account-key-file", s.KeyFiles,
		"File with keys that verify service account tokens. May be given several times. If blank, the key of --service-account-signing-key-file.")
	fs.StringVar(&s.SigningKeyFile, "service-account-signing-key-file", s.SigningKeyFile,
		"File with the key that signs service account tokens. If blank, a generated key.")
	fs.StringVar(&s.JWKSURI, "service-account-jwks-uri", s.JWKSURI,
		"Where relying parties find the keys, if not at this server.")
	fs.BoolVar(&s.Lookup, "service-account-lookup", s.Lookup,
		"Check that service accounts of tokens exist.")
	fs.DurationVar(&s.MaxExpiration, "service-account-max-token-expiration", s.MaxExpiration,
		"The longest that a token may be valid; longer ones are shortened. 0 is no limit.")
	fs.BoolVar(&s.ExtendTokenExpiration, "service-account-extend-token-expiration", s.ExtendTokenExpiration,
		"Let tokens that are mounted into pods live for a year, with a warning when they are used after the time asked for.")
	fs.StringVar(&s.SigningEndpoint, "service-account-signing-endpoint", s.SigningEndpoint,
		"Path of the socket of an external signer of service account tokens (k8s.io/externaljwt); \"@\" begins an abstract one. A start waits for the signer for a minute. It excludes --service-account-signing-key-file and --service-account-key-file.")
}

// validate returns what is wrong.
func (s *ServiceAccount) validate() []error {
	var errs []error
	for _, issuer := range s.Issuers {
		if strings.Contains(issuer, ":") {
			if _, err := url.Parse(issuer); err != nil {
				errs = append(errs, fmt.Errorf("--service-account-issuer %q holds a colon and is no URL: %w", issuer, err))
			}
		}
		if issuer == "" {
			errs = append(errs, fmt.Errorf("--service-account-issuer cannot be an empty string"))
		}
	}
	if len(s.KeyFiles) > 0 && s.SigningKeyFile == "" {
		errs = append(errs, fmt.Errorf("--service-account-key-file needs --service-account-signing-key-file: with a generated key no token would be verified"))
	}
	if m := s.MaxExpiration; m != 0 && (m < time.Hour || m > (1<<32)*time.Second) {
		errs = append(errs, fmt.Errorf("--service-account-max-token-expiration must be between 1 hour and 2^32 seconds"))
	}
	if s.SigningEndpoint != "" && (s.SigningKeyFile != "" || len(s.KeyFiles) > 0) {
		errs = append(errs, errors.New("--service-account-signing-endpoint excludes --service-account-signing-key-file and --service-account-key-file"))
	}
	return errs
}

// keys makes what signs and verifies tokens.
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

// externalKeys connects to the external signer, which bounds how long tokens live.
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
		return fmt.Errorf("--service-account-max-token-expiration %v is more than the %v that the external signer allows", s.MaxExpiration, signer.MaxLifetime)
	}
	if s.MaxExpiration == 0 {
		a.MaxTokenLifetime = signer.MaxLifetime
	}
	a.ExtendedTokenLifetime = min(extendedExpiration, signer.MaxLifetime)
	a.Signer, a.Keys = signer, signer
	a.background = append(a.background, signer.Run)
	return nil
}

// authenticator returns what authenticates the tokens.
func (s *ServiceAccount) authenticator(a *Authenticators, in AuthenticationInputs) authentication.Token {
	var metrics *serviceaccount.Metrics
	if in.Metrics != nil {
		metrics = serviceaccount.NewMetrics(in.Metrics)
	}
	return serviceaccount.NewAuthenticator(serviceaccount.Config{
		Issuers: s.Issuers, Keys: a.Keys, Audiences: a.Audiences, Getter: in.Lookups, Lookup: s.Lookup,
		RecordUse: in.Lookups.RecordTokenUse, Metrics: metrics,
	})
}
