package configuration

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/guard/authorization/webhook"
)

const (
	maxMatchConditions = 64
	longestTimeout     = 30 * time.Second
)

// Conditions are the compiled match conditions of webhooks, by the name of the authorizer.
type Conditions map[string][]*webhook.Condition

// Compile validates a configuration and compiles its match conditions.
func Compile(c *Configuration) (Conditions, field.ErrorList) {
	v := &validator{names: sets.New[string](), types: sets.New[string](), conditions: Conditions{}}
	path := field.NewPath("authorizers")
	if len(c.Authorizers) == 0 {
		v.add(field.Required(path, "at least one authorization mode must be defined"))
	}
	for i := range c.Authorizers {
		v.authorizer(path.Index(i), &c.Authorizers[i])
	}
	return v.conditions, v.errs
}

type validator struct {
	names, types sets.Set[string]
	conditions   Conditions
	errs         field.ErrorList
}

func (v *validator) add(err *field.Error) { v.errs = append(v.errs, err) }

func (v *validator) authorizer(path *field.Path, a *Authorizer) {
	switch {
	case a.Type == "":
		v.add(field.Required(path.Child("type"), ""))
	case !slices.Contains(Types(), a.Type):
		v.add(field.NotSupported(path.Child("type"), a.Type, Types()))
	case a.Type != Webhook && v.types.Has(a.Type):
		v.add(field.Duplicate(path.Child("type"), a.Type))
	}
	v.types.Insert(a.Type)
	if v.name(path.Child("name"), a.Name) && a.Type != Webhook && a.Name != strings.ToLower(a.Type) {
		v.add(field.Invalid(path.Child("name"), a.Name, fmt.Sprintf("expected name %s for authorizer %s",
			strings.ToLower(a.Type), a.Type)))
	}
	switch {
	case a.Type == Webhook && a.Webhook == nil:
		v.add(field.Required(path.Child("webhook"), "required when type=Webhook"))
	case a.Type != Webhook && a.Webhook != nil:
		v.add(field.Invalid(path.Child("webhook"), "non-null", "may only be specified when type=Webhook"))
	case a.Webhook != nil:
		v.webhook(path.Child("webhook"), a.Webhook)
		v.match(path.Child("webhook", "matchConditions"), a)
	}
}

// name reports whether a name is valid.
func (v *validator) name(path *field.Path, name string) bool {
	before := len(v.errs)
	switch {
	case name == "":
		v.add(field.Required(path, ""))
		return false
	case v.names.Has(name):
		v.add(field.Duplicate(path, name))
	}
	v.names.Insert(name)
	for _, why := range validation.IsDNS1123Subdomain(name) {
		v.add(field.Invalid(path, name, "authorizer name is invalid: "+why))
	}
	return len(v.errs) == before
}

func (v *validator) webhook(path *field.Path, w *WebhookConfiguration) {
	switch t := w.Timeout.Duration; {
	case t == 0:
		v.add(field.Required(path.Child("timeout"), ""))
	case t < 0 || t > longestTimeout:
		v.add(field.Invalid(path.Child("timeout"), t.String(), "must be > 0s and <= 30s"))
	}
	v.ttl(path.Child("authorizedTTL"), w.AuthorizedTTL.Duration)
	v.ttl(path.Child("unauthorizedTTL"), w.UnauthorizedTTL.Duration)
	v.oneOf(path.Child("subjectAccessReviewVersion"), w.SubjectAccessReviewVersion, "v1", "v1beta1")
	v.oneOf(path.Child("failurePolicy"), w.FailurePolicy, NoOpinion, Deny)
	v.connection(path.Child("connectionInfo"), &w.ConnectionInfo)
	version := path.Child("matchConditionSubjectAccessReviewVersion")
	switch {
	case w.MatchConditionSubjectAccessReviewVersion == "" && len(w.MatchConditions) > 0:
		v.add(field.Required(version, "required if match conditions are specified"))
	case w.MatchConditionSubjectAccessReviewVersion != "":
		v.oneOf(version, w.MatchConditionSubjectAccessReviewVersion, "v1")
	}
}

// ttl accepts 0, which only flags can set: Decode replaces it by the default.
func (v *validator) ttl(path *field.Path, ttl time.Duration) {
	if ttl < 0 {
		v.add(field.Invalid(path, ttl.String(), "must be > 0s"))
	}
}

func (v *validator) oneOf(path *field.Path, value string, allowed ...string) {
	switch {
	case value == "":
		v.add(field.Required(path, ""))
	case !slices.Contains(allowed, value):
		v.add(field.NotSupported(path, value, allowed))
	}
}

func (v *validator) connection(path *field.Path, c *ConnectionInfo) {
	v.oneOf(path.Child("type"), c.Type, KubeConfigFile, InClusterConfig)
	file := path.Child("kubeConfigFile")
	switch {
	case c.Type == InClusterConfig && c.KubeConfigFile != nil:
		v.add(field.Invalid(file, *c.KubeConfigFile, "can only be set when type=KubeConfigFile"))
	case c.Type != KubeConfigFile:
	case c.KubeConfigFile == nil || *c.KubeConfigFile == "":
		v.add(field.Required(file, ""))
	case !filepath.IsAbs(*c.KubeConfigFile):
		v.add(field.Invalid(file, *c.KubeConfigFile, "must be an absolute path"))
	default:
		if info, err := os.Stat(*c.KubeConfigFile); err != nil {
			v.add(field.Invalid(file, *c.KubeConfigFile, fmt.Sprintf("error loading file: %v", err)))
		} else if !info.Mode().IsRegular() {
			v.add(field.Invalid(file, *c.KubeConfigFile, "must be a regular file"))
		}
	}
}

func (v *validator) match(path *field.Path, a *Authorizer) {
	list := a.Webhook.MatchConditions
	if len(list) > maxMatchConditions {
		v.add(field.TooMany(path, len(list), maxMatchConditions))
		return
	}
	seen := sets.New[string]()
	for i, m := range list {
		at := path.Index(i).Child("expression")
		switch {
		case m.Expression == "":
			v.add(field.Required(at, ""))
			continue
		case seen.Has(m.Expression):
			v.add(field.Duplicate(at, m.Expression))
			continue
		}
		seen.Insert(m.Expression)
		condition, err := webhook.CompileCondition(m.Expression)
		if err != nil {
			v.add(field.Invalid(at, m.Expression, err.Error()))
			continue
		}
		v.conditions[a.Name] = append(v.conditions[a.Name], condition)
	}
}
