package filters

import (
	"maps"
	"slices"
	"strings"
	"sync"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/serve/requestmetrics"
)

const (
	authenticationGroup = "authentication.k8s.io"
	nodeUserPrefix      = "system:node:"
	// Names of the modes for nodes.
	associatedNode = "associated-node"
	arbitraryNode  = "arbitrary-node"
	// maxCachedModes bounds the cache of successful modes by requestor.
	maxCachedModes = 1024
)

// impersonationMode is a mode of authorization for impersonation. A constrained mode requires two permissions:
// "impersonate-on:MODE:VERB" on the requested resource, and "impersonate:MODE" on the impersonated subjects. The
// legacy mode requires only "impersonate" on the subjects.
type impersonationMode struct {
	name string // "" is the legacy mode
	// applies reports whether the mode covers the wanted user.
	applies func(requestor, wanted *user.Info) bool
	// subject returns the attributes to which "impersonate:MODE" applies; nil means the user, groups, UID and
	// extras.
	subject func(wanted *user.Info) authorizer.Attributes
}

// impersonationModes are tried in order, starting with the last successful mode of the requestor. If none
// succeeds, the response is the first rejection.
type impersonationModes struct {
	authz   authorizer.Authorizer
	modes   []impersonationMode
	metrics *requestmetrics.Impersonation // nil counts nothing

	mu       sync.RWMutex
	lastGood map[string]int
}

func newImpersonationModes(authz authorizer.Authorizer, plain bool, r *requestmetrics.Metrics) *impersonationModes {
	var m *requestmetrics.Impersonation
	if r != nil {
		m = r.Impersonation
	}
	all := []impersonationMode{
		{associatedNode, isAssociatedNode, func(*user.Info) authorizer.Attributes {
			return authorizer.Attributes{APIGroup: authenticationGroup, Resource: "nodes", Name: "*"}
		}},
		{arbitraryNode, isNode, func(wanted *user.Info) authorizer.Attributes {
			return authorizer.Attributes{APIGroup: authenticationGroup, Resource: "nodes",
				Name: strings.TrimPrefix(wanted.Name, nodeUserPrefix)}
		}},
		{"serviceaccount", isServiceAccount, func(wanted *user.Info) authorizer.Attributes {
			namespace, name, _ := user.ServiceAccount(wanted.Name)
			return authorizer.Attributes{APIGroup: authenticationGroup, Resource: "serviceaccounts",
				Namespace: namespace, Name: name}
		}},
		{"user-info", isPlainUser, nil},
		{"", func(_, _ *user.Info) bool { return true }, nil},
	}
	if plain {
		all = all[len(all)-1:]
	}
	return &impersonationModes{authz: authz, metrics: m, lastGood: map[string]int{}, modes: all}
}

func onlyName(wanted *user.Info) bool {
	return wanted.UID == "" && len(wanted.Groups) == 0 && len(wanted.Extra) == 0
}

func isNode(_, wanted *user.Info) bool {
	return onlyName(wanted) && len(wanted.Name) > len(nodeUserPrefix) && strings.HasPrefix(wanted.Name, nodeUserPrefix)
}

// isAssociatedNode reports whether a pod's service account impersonates the node that the pod runs on.
func isAssociatedNode(requestor, wanted *user.Info) bool {
	if _, _, ok := user.ServiceAccount(requestor.Name); !ok || !isNode(requestor, wanted) {
		return false
	}
	nodes := requestor.Extra[user.NodeNameKey]
	return len(nodes) == 1 && nodeUserPrefix+nodes[0] == wanted.Name
}

func isServiceAccount(_, wanted *user.Info) bool {
	_, _, ok := user.ServiceAccount(wanted.Name)
	return ok && onlyName(wanted)
}

func isPlainUser(_, wanted *user.Info) bool {
	_, _, serviceAccount := user.ServiceAccount(wanted.Name)
	return !serviceAccount && (wanted.Name == nodeUserPrefix || !strings.HasPrefix(wanted.Name, nodeUserPrefix))
}

// check authorizes the exchange's user to impersonate wanted. It returns the verb of the constrained mode that
// allowed it ("" for the legacy mode), or the error to respond with.
func (m *impersonationModes) check(e *exchange, wanted *user.Info) (constraint string, refusal *apierrors.StatusError) {
	begun, mode := time.Now(), ""
	defer func() { m.metrics.Attempt(mode, refusal == nil, time.Since(begun)) }()
	m.mu.RLock()
	first, remembered := m.lastGood[e.User.Name]
	m.mu.RUnlock()
	try := func(i int) bool {
		if !m.modes[i].applies(e.User, wanted) {
			return false
		}
		err := m.permit(e, &m.modes[i], wanted)
		if err == nil {
			mode = m.modes[i].label()
			m.remember(e.User.Name, i)
			return true
		}
		if refusal == nil {
			refusal = err
		}
		return false
	}
	if remembered && try(first) {
		return m.modes[first].constraint(), nil
	}
	for i := range m.modes {
		if remembered && i == first {
			continue
		}
		if try(i) {
			return m.modes[i].constraint(), nil
		}
	}
	return "", refusal
}

// constraint returns the verb of a constrained mode, "" for the legacy mode.
func (m *impersonationMode) constraint() string {
	if m.name == "" {
		return ""
	}
	return constraintOf(m.name)
}

// label returns the name of the mode in metrics.
func (m *impersonationMode) label() string {
	if m.name == "" {
		return "legacy"
	}
	return m.name
}

func constraintOf(mode string) string { return "impersonate:" + mode }

func (m *impersonationModes) remember(name string, mode int) {
	m.mu.RLock()
	known, ok := m.lastGood[name]
	m.mu.RUnlock()
	if ok && known == mode {
		return
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if len(m.lastGood) >= maxCachedModes {
		m.lastGood = map[string]int{}
	}
	m.lastGood[name] = mode
}

// permit authorizes everything that a mode requires.
func (m *impersonationModes) permit(e *exchange, mode *impersonationMode, wanted *user.Info) *apierrors.StatusError {
	verb, group := "impersonate", ""
	if mode.name != "" {
		verb, group = mode.constraint(), authenticationGroup
		var on authorizer.Attributes
		authorization.AttributesOf(&e.info, e.User, &on)
		on.Verb = "impersonate-on:" + mode.name + ":" + on.Verb
		if err := m.ask(e, mode, &on); err != nil {
			return err
		}
	}
	for _, a := range subjects(mode, group, wanted) {
		a.User, a.Verb, a.APIVersion, a.ResourceRequest = e.User, verb, "v1", true
		if mode.name != "" {
			if reason := unconstrained(&a); reason != "" {
				if a.Resource == "userextras" { // the key is at fault, whatever the value
					a.Subresource, a.Name = "", ""
				}
				return authorization.Forbidden(&a, reason)
			}
		}
		if err := m.ask(e, mode, &a); err != nil {
			return err
		}
	}
	return nil
}

// unconstrained returns why a constrained permission never covers a subject, "" if it may cover it. Members of
// system:masters have no constraints, and a permission for all groups or keys excludes the empty one.
func unconstrained(a *authorizer.Attributes) string {
	switch {
	case a.Resource == "groups" && a.Name == user.SystemPrivileged:
		return "impersonating the " + user.SystemPrivileged + " group is not allowed"
	case a.Resource == "groups" && a.Name == "":
		return "impersonating the empty string group is not allowed"
	case a.Resource != "userextras":
		return ""
	case a.Subresource == "":
		return "impersonating the empty string key in extra is not allowed"
	}
	if errs := validation.IsDomainPrefixedPath(field.NewPath("extra.key"), a.Subresource); len(errs) > 0 {
		return "impersonating an invalid key in extra is not allowed: " + errs.ToAggregate().Error()
	}
	return ""
}

// subjects returns the attributes of all subjects that the requestor must be allowed to impersonate.
func subjects(mode *impersonationMode, group string, wanted *user.Info) []authorizer.Attributes {
	if mode.subject != nil {
		return []authorizer.Attributes{mode.subject(wanted)}
	}
	all := []authorizer.Attributes{{APIGroup: group, Resource: "users", Name: wanted.Name}}
	if namespace, name, ok := user.ServiceAccount(wanted.Name); ok {
		all[0] = authorizer.Attributes{APIGroup: group, Resource: "serviceaccounts", Namespace: namespace, Name: name}
	}
	if wanted.UID != "" {
		all = append(all, authorizer.Attributes{APIGroup: authenticationGroup, Resource: "uids", Name: wanted.UID})
	}
	for _, g := range wanted.Groups {
		all = append(all, authorizer.Attributes{APIGroup: group, Resource: "groups", Name: g})
	}
	for _, key := range slices.Sorted(maps.Keys(wanted.Extra)) {
		for _, value := range wanted.Extra[key] {
			all = append(all, authorizer.Attributes{APIGroup: authenticationGroup, Resource: "userextras",
				Subresource: key, Name: value})
		}
	}
	return all
}

func (m *impersonationModes) ask(e *exchange, mode *impersonationMode,
	a *authorizer.Attributes) *apierrors.StatusError {
	begun := time.Now()
	decision, reason, err := m.authz.Authorize(e, a)
	allowed := decision == authorizer.Allow && err == nil
	m.metrics.Authorization(mode.label(), allowed, time.Since(begun))
	if allowed {
		return nil
	}
	return authorization.Forbidden(a, reason)
}
