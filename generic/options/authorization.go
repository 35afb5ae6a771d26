package options

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/pflag"

	"triplane/generic/authorization"
	"triplane/generic/authorization/authorizer"
)

// Names of authorization modes.
const (
	ModeAlwaysAllow = "AlwaysAllow"
	ModeAlwaysDeny  = "AlwaysDeny"
	ModeRBAC        = "RBAC"
	ModeNode        = "Node"
)

var modes = []string{ModeAlwaysAllow, ModeAlwaysDeny, ModeNode, ModeRBAC}

// Authorization is who decides what clients may do.
type Authorization struct {
	Modes []string
}

// NewAuthorization returns the defaults.
func NewAuthorization() *Authorization {
	return &Authorization{Modes: []string{ModeNode, ModeRBAC}}
}

// AddFlags binds the flags.
func (o *Authorization) AddFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&o.Modes, "authorization-mode", o.Modes,
		"Who decides what clients may do, asked in this order: "+strings.Join(modes, ", ")+". Members of system:masters may do everything.")
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
	return errs
}

// Mode is an authorizer that can also tell rules; RuleResolver may be nil.
type Mode struct {
	authorizer.Authorizer
	authorizer.RuleResolver
}

// Build joins the authorizers in their order. The ones that need objects are
// given by the caller, by mode; a mode that has none is left out.
func (o *Authorization) Build(given map[string]Mode) (authorizer.Authorizer, authorizer.RuleResolver) {
	authorizers := []authorizer.Authorizer{authorization.SystemMasters()}
	var resolvers []authorizer.RuleResolver
	for _, name := range o.Modes {
		m := given[name]
		switch name {
		case ModeAlwaysAllow:
			m = Mode{authorization.AlwaysAllow{}, authorization.AlwaysAllow{}}
		case ModeAlwaysDeny:
			m = Mode{authorization.AlwaysDeny{}, authorization.AlwaysDeny{}}
		}
		if m.Authorizer != nil {
			authorizers = append(authorizers, m.Authorizer)
		}
		if m.RuleResolver != nil {
			resolvers = append(resolvers, m.RuleResolver)
		}
	}
	return authorization.Union(authorizers...), authorization.RuleUnion(resolvers...)
}
