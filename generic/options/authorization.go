package options

import (
	"fmt"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"

	authnwebhook "triplane/generic/authentication/webhook"
	"triplane/generic/authorization"
	"triplane/generic/authorization/abac"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/authorization/webhook"
)

// Names of authorization modes.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeRBAC        = "RBAC"
	ModeNode        = "Node"
	ModeABAC        = "ABAC"
	ModeWebhook     = "Webhook"
)

var modes = []string{ModeAlwaysAllow, ModeAlwaysDeny, ModeABAC, ModeWebhook, ModeRBAC, ModeNode}

// Authorization is who decides what clients may do.
type Authorization struct {
	Modes []string
	// PolicyFile is for ABAC, the others for Webhook.
	PolicyFile           string
	WebhookConfigFile    string
	WebhookVersion       string
	WebhookAuthorizedTTL time.Duration
	WebhookDeniedTTL     time.Duration
}

// NewAuthorization returns the defaults.
func NewAuthorization() *Authorization {
	return &Authorization{
		Modes:                []string{ModeNode, ModeRBAC},
		WebhookVersion:       "v1beta1",
		WebhookAuthorizedTTL: 5 * time.Minute,
		WebhookDeniedTTL:     30 * time.Second,
	}
}

// AddFlags binds the flags.
func (o *Authorization) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Modes, "authorization-mode", o.Modes,
		"Who decides what clients may do, asked in this order: "+strings.Join(modes, ", ")+". Members of system:masters may do everything.")
	fs.StringVar(&o.PolicyFile, "authorization-policy-file", o.PolicyFile,
		"File with policies for --authorization-mode=ABAC, a JSON object a line.")
	fs.StringVar(&o.WebhookConfigFile, "authorization-webhook-config-file", o.WebhookConfigFile,
		"File in kubeconfig format that says which service to ask for --authorization-mode=Webhook.")
	fs.StringVar(&o.WebhookVersion, "authorization-webhook-version", o.WebhookVersion,
		"The version of SubjectAccessReview to send to the service: v1 or v1beta1.")
	fs.DurationVar(&o.WebhookAuthorizedTTL, "authorization-webhook-cache-authorized-ttl", o.WebhookAuthorizedTTL,
		"How long to keep the service's permissions.")
	fs.DurationVar(&o.WebhookDeniedTTL, "authorization-webhook-cache-unauthorized-ttl", o.WebhookDeniedTTL,
		"How long to keep the service's refusals.")
}

// Validate returns what is wrong.
func (o *Authorization) Validate() []error {
	var errs []error
	if len(o.Modes) == 0 {
		errs = append(errs, fmt.Errorf("--authorization-mode needs at least one of %s", strings.Join(modes, ", ")))
	}
	for i, m := range o.Modes {
		if !slices.Contains(modes, m) {
			errs = append(errs, fmt.Errorf("--authorization-mode: %q is not one of %s", m, strings.Join(modes, ", ")))
		}
		if slices.Contains(o.Modes[:i], m) {
			errs = append(errs, fmt.Errorf("--authorization-mode names %q twice", m))
		}
	}
	needs := func(mode, flag, value string) {
		if has := slices.Contains(o.Modes, mode); has != (value != "") {
			errs = append(errs, fmt.Errorf("--authorization-mode=%s and --%s need each other", mode, flag))
		}
	}
	needs(ModeABAC, "authorization-policy-file", o.PolicyFile)
	needs(ModeWebhook, "authorization-webhook-config-file", o.WebhookConfigFile)
	return errs
}

// Mode is an authorizer that can also list rules; RuleResolver may be nil.
type Mode struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// Build joins the authorizers in their order. The ones that need objects are
// given by the caller, by mode; a mode that has none is left out.
func (o *Authorization) Build(given map[string]Mode) (authorizer.Authorizer, authorizer.RuleResolver, error) {
	authorizers := []authorizer.Authorizer{authorization.SystemMasters()}
	var resolvers []authorizer.RuleResolver
	for _, name := range o.Modes {
		m, err := o.mode(name, given)
		if err != nil {
			return nil, nil, err
		}
		if m.Authorizer != nil {
			authorizers = append(authorizers, m.Authorizer)
		}
		if m.RuleResolver != nil {
			resolvers = append(resolvers, m.RuleResolver)
		}
	}
	return authorization.Union(authorizers...), authorization.RuleUnion(resolvers...), nil
}

func (o *Authorization) mode(name string, given map[string]Mode) (Mode, error) {
	switch name {
	case ModeAlwaysAllow:
		return Mode{authorization.AlwaysAllow{}, authorization.AlwaysAllow{}}, nil
	case ModeAlwaysDeny:
		return Mode{authorization.AlwaysDeny{}, authorization.AlwaysDeny{}}, nil
	case ModeABAC:
		a, err := abac.Read(o.PolicyFile)
		if err != nil {
			return Mode{}, fmt.Errorf("--authorization-policy-file: %w", err)
		}
		return Mode{a, a}, nil
	case ModeWebhook:
		caller, err := authnwebhook.NewCaller(o.WebhookConfigFile)
		if err != nil {
			return Mode{}, fmt.Errorf("--authorization-webhook-config-file: %w", err)
		}
		a, err := webhook.New(caller, o.WebhookVersion, o.WebhookAuthorizedTTL, o.WebhookDeniedTTL)
		if err != nil {
			return Mode{}, fmt.Errorf("--authorization-webhook-version: %w", err)
		}
		return Mode{a, a}, nil
	}
	return given[name], nil
}
