package authoptions

import (
	"context"
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/prometheus/client_golang/prometheus"
	"github.com/spf13/pflag"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/configfile"
	"triplane.dev/generic/base/egress"
	authnwebhook "triplane.dev/generic/guard/authentication/webhook"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/guard/authorization/abac"
	"triplane.dev/generic/guard/authorization/configuration"
	"triplane.dev/generic/guard/authorization/webhook"
)

// Authorization configures the authorizers.
type Authorization struct {
	// ConfigFile is an AuthorizationConfiguration, which replaces Modes and the webhook's options.
	ConfigFile string
	// Modes are types of package configuration; nil means Node and RBAC.
	Modes []string
	// PolicyFile is for ABAC, the options after it for Webhook.
	PolicyFile           string
	WebhookConfigFile    string
	WebhookVersion       string
	WebhookAuthorizedTTL time.Duration
	WebhookDeniedTTL     time.Duration
}

// Defaults of the webhook's options.
const (
	defaultReviewVersion = "v1beta1"
	defaultAuthorizedTTL = 5 * time.Minute
	defaultDeniedTTL     = 30 * time.Second
	webhookTimeout       = 30 * time.Second
)

// NewAuthorization returns the defaults.
func NewAuthorization() *Authorization {
	return &Authorization{
		WebhookVersion:       defaultReviewVersion,
		WebhookAuthorizedTTL: defaultAuthorizedTTL,
		WebhookDeniedTTL:     defaultDeniedTTL,
	}
}

// AddFlags binds the flags.
func (o *Authorization) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.ConfigFile, "authorization-config", o.ConfigFile,
		"File with an AuthorizationConfiguration: the authorizers in order, including any number of webhooks. It "+
			"is reloaded when it changes. It excludes --authorization-mode and the --authorization-webhook-* flags.")
	fs.StringSliceVar(&o.Modes, "authorization-mode", o.Modes,
		"The authorizers, in order: "+strings.Join(configuration.Types(), ", ")+
			". If blank, Node,RBAC. Members of system:masters are always allowed.")
	fs.StringVar(&o.PolicyFile, "authorization-policy-file", o.PolicyFile,
		"File with policies for --authorization-mode=ABAC, one JSON object per line.")
	fs.StringVar(&o.WebhookConfigFile, "authorization-webhook-config-file", o.WebhookConfigFile,
		"Kubeconfig of the webhook of --authorization-mode=Webhook.")
	fs.StringVar(&o.WebhookVersion, "authorization-webhook-version", o.WebhookVersion,
		"The version of SubjectAccessReview that the webhook expects: v1 or v1beta1.")
	fs.DurationVar(&o.WebhookAuthorizedTTL, "authorization-webhook-cache-authorized-ttl", o.WebhookAuthorizedTTL,
		"How long to cache the webhook's allow decisions. 0 disables caching.")
	fs.DurationVar(&o.WebhookDeniedTTL, "authorization-webhook-cache-unauthorized-ttl", o.WebhookDeniedTTL,
		"How long to cache the webhook's deny decisions. 0 disables caching.")
}

// Validate returns an error for each invalid value.
func (o *Authorization) Validate() []error {
	if o.ConfigFile != "" {
		return o.validateWithFile()
	}
	var errs []error
	for i, m := range o.modes() {
		if !slices.Contains(configuration.Types(), m) {
			errs = append(errs, fmt.Errorf("--authorization-mode: %q is not one of %s", m,
				strings.Join(configuration.Types(), ", ")))
		}
		if slices.Index(o.modes(), m) < i && !slices.Contains(o.modes()[i+1:], m) {
			errs = append(errs, fmt.Errorf("--authorization-mode names %q twice", m))
		}
	}
	needs := func(mode, flag, value string) {
		if has := slices.Contains(o.modes(), mode); has != (value != "") {
			errs = append(errs, fmt.Errorf("--authorization-mode=%s and --%s require each other", mode, flag))
		}
	}
	needs(configuration.ABAC, "authorization-policy-file", o.PolicyFile)
	needs(configuration.Webhook, "authorization-webhook-config-file", o.WebhookConfigFile)
	return errs
}

func (o *Authorization) validateWithFile() (errs []error) {
	for _, f := range []struct {
		flag  string
		given bool
	}{
		{"mode", o.Modes != nil},
		{"webhook-config-file", o.WebhookConfigFile != ""},
		{"webhook-version", o.WebhookVersion != defaultReviewVersion},
		{"webhook-cache-authorized-ttl", o.WebhookAuthorizedTTL != defaultAuthorizedTTL},
		{"webhook-cache-unauthorized-ttl", o.WebhookDeniedTTL != defaultDeniedTTL},
	} {
		if f.given {
			errs = append(errs, fmt.Errorf("--authorization-config and --authorization-%s exclude each other", f.flag))
		}
	}
	return errs
}

func (o *Authorization) modes() []string {
	if o.Modes == nil {
		return []string{configuration.Node, configuration.RBAC}
	}
	return o.Modes
}

// Mode is an authorizer with a rule resolver, which may be nil.
type Mode struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// AuthorizationInputs are the dependencies of authorizers.
type AuthorizationInputs struct {
	// Given are the authorizers that read objects, by type.
	Given map[string]Mode
	// Metrics may be nil.
	Metrics prometheus.Registerer
	// ServerID is the identity of this API server.
	ServerID string
	// Egress connects to webhooks; it may be nil.
	Egress *egress.Selector
}

// Authorizers are the authorizers that the options describe, combined.
type Authorizers struct {
	Authorizer   authorizer.Authorizer
	RuleResolver authorizer.RuleResolver
	// Types are the sorted types of the authorizers other than webhooks.
	Types []string
	// Background must run while requests are authorized, until its context is done; nil if not needed.
	Background func(context.Context)
}

// Build combines the authorizers in their order.
func (o *Authorization) Build(in AuthorizationInputs) (*Authorizers, error) {
	b := &authorizationBuilder{options: o, given: in.Given, egress: in.Egress, fixed: map[string]Mode{}}
	if in.Metrics != nil {
		b.decisions, b.webhooks = authorization.NewDecisions(in.Metrics), webhook.NewMetrics(in.Metrics)
	}
	config, raw, err := o.configuration()
	if err != nil {
		return nil, err
	}
	a := &Authorizers{Types: typesOf(config)}
	if a.Authorizer, a.RuleResolver, err = b.build(config); err != nil || o.ConfigFile == "" {
		return a, err
	}
	current := &authorization.Replaceable{}
	current.Replace(a.Authorizer, a.RuleResolver)
	a.Authorizer, a.RuleResolver = current, current
	r := configfile.Reloader{Path: o.ConfigFile, Load: func(_ context.Context, raw []byte) error {
		return b.reload(current, a.Types, raw)
	}}
	if in.Metrics != nil {
		r.Metrics = configfile.NewMetrics(in.Metrics, "authorization", in.ServerID)
	}
	a.Background = func(ctx context.Context) { r.Run(ctx, raw) }
	return a, nil
}

// configuration returns the configuration of the file, with its content, or that of the flags.
func (o *Authorization) configuration() (*configuration.Configuration, []byte, error) {
	if o.ConfigFile == "" {
		return o.flags(), nil, nil
	}
	raw, err := configfile.Read(o.ConfigFile)
	if err != nil {
		return nil, nil, fmt.Errorf("--authorization-config: %w", err)
	}
	c, err := configuration.Decode(raw)
	if err != nil {
		return nil, nil, fmt.Errorf("--authorization-config: %s: %w", o.ConfigFile, err)
	}
	return c, raw, nil
}

// flags returns the flags as a configuration.
func (o *Authorization) flags() *configuration.Configuration {
	c := &configuration.Configuration{}
	for _, mode := range o.modes() {
		a := configuration.Authorizer{Type: mode, Name: strings.ToLower(mode)}
		if mode == configuration.Webhook {
			file := o.WebhookConfigFile
			if absolute, err := filepath.Abs(file); err == nil {
				file = absolute
			}
			a.Name = "default"
			a.Webhook = &configuration.WebhookConfiguration{
				AuthorizedTTL:              metav1.Duration{Duration: o.WebhookAuthorizedTTL},
				UnauthorizedTTL:            metav1.Duration{Duration: o.WebhookDeniedTTL},
				Timeout:                    metav1.Duration{Duration: webhookTimeout},
				SubjectAccessReviewVersion: o.WebhookVersion,
				FailurePolicy:              configuration.NoOpinion,
				ConnectionInfo: configuration.ConnectionInfo{Type: configuration.KubeConfigFile,
					KubeConfigFile: &file},
			}
		}
		c.Authorizers = append(c.Authorizers, a)
	}
	return c
}

// typesOf returns the sorted types of authorizers other than webhooks.
func typesOf(c *configuration.Configuration) (types []string) {
	for _, a := range c.Authorizers {
		if a.Type != configuration.Webhook {
			types = append(types, a.Type)
		}
	}
	slices.Sort(types)
	return types
}

// authorizationBuilder builds authorizers from configurations.
type authorizationBuilder struct {
	options   *Authorization
	given     map[string]Mode
	egress    *egress.Selector
	fixed     map[string]Mode // those that are made once
	decisions *authorization.Decisions
	webhooks  *webhook.Metrics
}

// reload applies a changed file. It may reorder authorizers other than webhooks, but not add or remove them,
// because they start with the server.
func (b *authorizationBuilder) reload(current *authorization.Replaceable, types []string, raw []byte) error {
	config, err := configuration.Decode(raw)
	if err != nil {
		return err
	}
	if now := typesOf(config); !slices.Equal(now, types) {
		return fmt.Errorf("authorizers other than webhooks cannot be added or removed without a restart: they were "+
			"%v, and are %v", types, now)
	}
	a, rules, err := b.build(config)
	if err == nil {
		current.Replace(a, rules)
	}
	return err
}

// build combines the authorizers of a configuration. It omits types that read objects and are not given.
func (b *authorizationBuilder) build(config *configuration.Configuration) (authorizer.Authorizer,
	authorizer.RuleResolver, error) {
	conditions, errs := configuration.Compile(config)
	if len(errs) > 0 && b.options.ConfigFile != "" {
		return nil, nil, fmt.Errorf("--authorization-config: %s: %w", b.options.ConfigFile, errs.ToAggregate())
	}
	if len(errs) > 0 {
		return nil, nil, fmt.Errorf("--authorization-* flags: %w", errs.ToAggregate())
	}
	authorizers := []authorizer.Authorizer{authorization.SystemMasters()}
	var resolvers []authorizer.RuleResolver
	for i := range config.Authorizers {
		c := &config.Authorizers[i]
		m, err := b.mode(c, conditions[c.Name])
		if err != nil {
			return nil, nil, err
		}
		if m.Authorizer != nil {
			authorizers = append(authorizers, authorization.Named(c.Name, b.decisions.Of(m.Authorizer, c.Type, c.Name)))
		}
		if m.RuleResolver != nil {
			resolvers = append(resolvers, m.RuleResolver)
		}
	}
	return authorization.Union(authorizers...), authorization.RuleUnion(resolvers...), nil
}

func (b *authorizationBuilder) mode(c *configuration.Authorizer, conditions []*webhook.Condition) (Mode, error) {
	switch c.Type {
	case configuration.AlwaysAllow:
		return Mode{authorization.AlwaysAllow{}, authorization.AlwaysAllow{}}, nil
	case configuration.AlwaysDeny:
		return Mode{authorization.AlwaysDeny{}, authorization.AlwaysDeny{}}, nil
	case configuration.ABAC:
		return b.abac()
	case configuration.Webhook:
		return b.webhook(c, conditions)
	}
	return b.given[c.Type], nil
}

// abac reads the policies on the first call.
func (b *authorizationBuilder) abac() (Mode, error) {
	if m, ok := b.fixed[configuration.ABAC]; ok {
		return m, nil
	}
	if b.options.PolicyFile == "" {
		return Mode{}, fmt.Errorf("an authorizer of type ABAC needs --authorization-policy-file")
	}
	a, err := abac.Read(b.options.PolicyFile)
	if err != nil {
		return Mode{}, fmt.Errorf("--authorization-policy-file: %w", err)
	}
	b.fixed[configuration.ABAC] = Mode{a, a}
	return b.fixed[configuration.ABAC], nil
}

func (b *authorizationBuilder) webhook(c *configuration.Authorizer, conditions []*webhook.Condition) (Mode, error) {
	w := c.Webhook
	client, err := connection(&w.ConnectionInfo)
	if err != nil {
		return Mode{}, fmt.Errorf("authorizer %q: %w", c.Name, err)
	}
	client.Dial = b.egress.DialControlPlane
	caller, err := authnwebhook.NewCallerFor(client, w.Timeout.Duration)
	if err != nil {
		return Mode{}, fmt.Errorf("authorizer %q: %w", c.Name, err)
	}
	ttl := func(d metav1.Duration, kept *bool) time.Duration {
		if kept != nil && !*kept {
			return 0
		}
		return d.Duration
	}
	a, err := webhook.New(webhook.Config{
		Name: c.Name, Caller: caller, Version: w.SubjectAccessReviewVersion, Conditions: conditions,
		AllowedTTL:  ttl(w.AuthorizedTTL, w.CacheAuthorizedRequests),
		DeniedTTL:   ttl(w.UnauthorizedTTL, w.CacheUnauthorizedRequests),
		DenyOnError: w.FailurePolicy == configuration.Deny, Metrics: b.webhooks,
	})
	return Mode{a, a}, err
}

func connection(c *configuration.ConnectionInfo) (*rest.Config, error) {
	if c.Type == configuration.InClusterConfig {
		return rest.InClusterConfig()
	}
	return authnwebhook.ReadKubeconfig(*c.KubeConfigFile)
}
