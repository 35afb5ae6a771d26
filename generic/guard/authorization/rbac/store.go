package rbac

import (
	"context"
	"slices"
	"strconv"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	"triplane.dev/generic/base/user"
	"triplane.dev/internal/worker"
)

// Authorizer authorizes requests with the RBAC objects of the cluster. It is safe for concurrent use.
type Authorizer struct {
	mu sync.RWMutex
	// roles are keyed by namespace and name. ClusterRoles have no namespace.
	roles    layered[name, *role]
	bindings layered[name, *binding]
	// grants are keyed by subject. Those of ClusterRoleBindings have the namespace "".
	grants layered[grantKey, *grants]
	// admitted counts the bindings by which Admits admits a subject.
	admitted layered[subject, int]
	// demand is ready when it is known which of the shared objects exist; nil without shared objects.
	demand *worker.OnDemand
	// changed is closed at the next change. It is nil while no Await is running.
	changed chan struct{}
}

type name struct{ namespace, name string }

// versioned is a resource version, 0 without one.
type versioned struct{ version uint64 }

// precedes reports whether an object of another resource version replaces this one.
func (v versioned) precedes(other uint64) bool {
	return other > v.version || other == 0 && v.version == 0
}

type role struct {
	versioned
	rules []rbacv1.PolicyRule
}

type binding struct {
	name
	versioned
	ref    rbacv1.RoleRef
	grants []*grant
}

// grantKey identifies a user or group in a namespace.
type grantKey struct {
	namespace string
	group     bool
	subject   string
}

// subject identifies a user or group in all namespaces.
type subject struct {
	group bool
	name  string
}

func (k grantKey) who() subject { return subject{k.group, k.subject} }

// grant is the permission that a binding gives to one of its subjects.
type grant struct {
	binding *binding
	subject rbacv1.Subject
	key     grantKey
	admits  bool // see Admits
	// reason is the reason of a decision that this grant allows.
	reason string
}

// grants are those of a subject.
type grants struct{ list []*grant }

// New returns an Authorizer without objects.
func New() *Authorizer { return new(Authorizer) }

// Over returns an Authorizer that shares the objects of a, which must not change any more. Its Follow begins with the
// first decision, which waits until Follow has found out which of the shared objects exist.
func (a *Authorizer) Over() *Authorizer {
	return &Authorizer{roles: a.roles.over(), bindings: a.bindings.over(), grants: a.grants.over(),
		admitted: a.admitted.over(), demand: worker.NewOnDemand()}
}

// useShared puts the shared objects in effect.
func (a *Authorizer) useShared() {
	if a.demand != nil {
		a.demand.Ready()
	}
}

// names returns the names of the roles, or of the bindings.
func (a *Authorizer) names(bindings bool) []name {
	a.mu.RLock()
	defer a.mu.RUnlock()
	if bindings {
		return a.bindings.keys()
	}
	return a.roles.keys()
}

// SetRole adds or replaces a Role. The object must not be changed afterwards.
func (a *Authorizer) SetRole(r *rbacv1.Role) {
	a.setRole(name{r.Namespace, r.Name}, versionOf(r), r.Rules)
}

// SetClusterRole adds or replaces a ClusterRole. The object must not be changed afterwards.
func (a *Authorizer) SetClusterRole(r *rbacv1.ClusterRole) {
	a.setRole(name{"", r.Name}, versionOf(r), r.Rules)
}

// DeleteRole deletes a Role, or with namespace "" a ClusterRole.
func (a *Authorizer) DeleteRole(namespace, roleName string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.roles.set(name{namespace, roleName}, nil)
}

// SetRoleBinding adds or replaces a RoleBinding. The object must not be changed afterwards.
func (a *Authorizer) SetRoleBinding(b *rbacv1.RoleBinding) {
	a.setBinding(&b.ObjectMeta, b.RoleRef, b.Subjects)
}

// SetClusterRoleBinding adds or replaces a ClusterRoleBinding. The object must not be changed afterwards.
func (a *Authorizer) SetClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	a.setBinding(&b.ObjectMeta, b.RoleRef, b.Subjects)
}

// DeleteBinding deletes a RoleBinding, or with namespace "" a ClusterRoleBinding.
func (a *Authorizer) DeleteBinding(namespace, bindingName string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropBinding(name{namespace, bindingName})
}

func (a *Authorizer) setRole(n name, version uint64, rules []rbacv1.PolicyRule) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.roles.get(n); known == nil || known.precedes(version) {
		a.roles.set(n, &role{versioned{version}, rules})
		a.announce()
	}
}

func (a *Authorizer) setBinding(m *metav1.ObjectMeta, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	n, version := name{m.Namespace, m.Name}, versionOf(m)
	a.mu.Lock()
	defer a.mu.Unlock()
	if known := a.bindings.get(n); known != nil && !known.precedes(version) {
		return
	}
	a.dropBinding(n)
	b := &binding{name: n, versioned: versioned{version}, ref: ref}
	for _, s := range subjects {
		key, ok := keyOf(s, n.namespace)
		if !ok {
			continue
		}
		g := &grant{binding: b, subject: s, key: key, admits: admits(m, key), reason: "RBAC: allowed by " + describe(b, s)}
		b.grants = append(b.grants, g)
		a.addGrant(key, g)
		if g.admits {
			a.admitted.set(key.who(), a.admitted.get(key.who())+1)
		}
	}
	a.bindings.set(n, b)
	a.announce()
}

// announce wakes Await after a change. The caller holds a.mu.
func (a *Authorizer) announce() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// Await returns when the authorizer uses all given roles and bindings, in these versions or newer ones, or when
// ctx ends. For a deleted object it waits until ctx ends.
func (a *Authorizer) Await(ctx context.Context, policy []metav1.Object) error {
	for {
		changed := a.nextChange()
		policy = slices.DeleteFunc(slices.Clone(policy), a.hasVersion)
		if len(policy) == 0 {
			return nil
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
}

func (a *Authorizer) nextChange() <-chan struct{} {
	a.mu.Lock()
	defer a.mu.Unlock()
	if a.changed == nil {
		a.changed = make(chan struct{})
	}
	return a.changed
}

// hasVersion reports whether the authorizer has this version of an object, or a newer one.
func (a *Authorizer) hasVersion(o metav1.Object) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	n := name{o.GetNamespace(), o.GetName()}
	switch o.(type) {
	case *rbacv1.Role, *rbacv1.ClusterRole:
		r := a.roles.get(n)
		return r != nil && r.version >= versionOf(o)
	default:
		b := a.bindings.get(n)
		return b != nil && b.version >= versionOf(o)
	}
}

func (a *Authorizer) dropBinding(n name) {
	b := a.bindings.get(n)
	if b == nil {
		return
	}
	a.bindings.set(n, nil)
	for _, g := range b.grants {
		if g.admits {
			a.admitted.set(g.key.who(), a.admitted.get(g.key.who())-1)
		}
		if left := without(a.grantsOf(g.key), b); len(left) == 0 {
			a.grants.set(g.key, nil)
		} else {
			a.grants.set(g.key, &grants{left})
		}
	}
}

// addGrant adds a grant to those of a subject, which may be shared.
func (a *Authorizer) addGrant(key grantKey, g *grant) {
	own := a.grants.own[key]
	if own == nil {
		own = &grants{slices.Clone(a.grantsOf(key))}
		a.grants.set(key, own)
	}
	own.list = append(own.list, g)
}

// grantsOf returns the grants of a subject, which the caller must not change.
func (a *Authorizer) grantsOf(key grantKey) []*grant {
	if g := a.grants.get(key); g != nil {
		return g.list
	}
	return nil
}

// without returns a copy without the grants of a binding: readers may still hold the old slice.
func without(grants []*grant, b *binding) []*grant {
	left := make([]*grant, 0, len(grants))
	for _, g := range grants {
		if g.binding != b {
			left = append(left, g)
		}
	}
	return left
}

// keyOf returns the index key of a subject. A service account has the key of its user name.
func keyOf(s rbacv1.Subject, bindingNamespace string) (grantKey, bool) {
	switch s.Kind {
	case rbacv1.UserKind:
		return grantKey{bindingNamespace, false, s.Name}, true
	case rbacv1.GroupKind:
		return grantKey{bindingNamespace, true, s.Name}, true
	case rbacv1.ServiceAccountKind:
		namespace := s.Namespace
		if namespace == "" {
			namespace = bindingNamespace
		}
		return grantKey{bindingNamespace, false, user.ServiceAccountName(namespace, s.Name)}, namespace != ""
	}
	return grantKey{}, false
}

func describe(b *binding, s rbacv1.Subject) string {
	kind, bindingName := "ClusterRoleBinding", b.name.name
	if b.namespace != "" {
		kind, bindingName = "RoleBinding", b.name.name+"/"+b.namespace
	}
	subject := s.Name
	if s.Kind == rbacv1.ServiceAccountKind {
		subject += "/" + s.Namespace
	}
	return kind + " " + strconv.Quote(bindingName) + " of " + b.ref.Kind + " " + strconv.Quote(b.ref.Name) +
		" to " + s.Kind + " " + strconv.Quote(subject)
}

// versionOf returns the resource version of an object as a number, or 0 if it has none.
func versionOf(o metav1.Object) uint64 {
	v, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	return v
}

// Set adds or replaces an object of any of the four kinds; others have no effect. The object must not be changed
// afterwards.
func (a *Authorizer) Set(o runtime.Object) {
	switch o := o.(type) {
	case *rbacv1.Role:
		a.SetRole(o)
	case *rbacv1.ClusterRole:
		a.SetClusterRole(o)
	case *rbacv1.RoleBinding:
		a.SetRoleBinding(o)
	case *rbacv1.ClusterRoleBinding:
		a.SetClusterRoleBinding(o)
	}
}
