package rbac

import (
	"context"
	"slices"
	"strconv"
	"sync"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/tools/cache"

	"triplane/generic/base/user"
)

// Authorizer holds the RBAC objects of the cluster and decides by them. It is
// safe for concurrent use.
type Authorizer struct {
	mu sync.RWMutex
	// roles by namespace and name; cluster roles have no namespace.
	roles    map[name]role
	bindings map[name]*binding
	// grants by who they are for, those of cluster role bindings under "".
	grants map[grantKey][]*grant
	// changed is closed at the next change; nil while nobody waits for one.
	changed chan struct{}
}

type name struct{ namespace, name string }

type role struct {
	version uint64
	rules   []rbacv1.PolicyRule
}

type binding struct {
	name
	version uint64
	ref     rbacv1.RoleRef
	grants  []*grant
}

// grantKey finds the grants of a user or a group in a namespace.
type grantKey struct {
	namespace string
	group     bool
	subject   string
}

// grant is what a binding gives one of its subjects.
type grant struct {
	binding *binding
	subject rbacv1.Subject
	key     grantKey
	// reason is said when the grant decides.
	reason string
}

// New returns an Authorizer that knows of no objects yet.
func New() *Authorizer {
	return &Authorizer{roles: map[name]role{}, bindings: map[name]*binding{}, grants: map[grantKey][]*grant{}}
}

// SetRole adds or changes a role. The object must not be changed afterwards.
func (a *Authorizer) SetRole(r *rbacv1.Role) {
	a.setRole(name{r.Namespace, r.Name}, versionOf(r), r.Rules)
}

// SetClusterRole adds or changes a cluster role.
func (a *Authorizer) SetClusterRole(r *rbacv1.ClusterRole) {
	a.setRole(name{"", r.Name}, versionOf(r), r.Rules)
}

// DeleteRole forgets a role, or with namespace "" a cluster role.
func (a *Authorizer) DeleteRole(namespace, roleName string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	delete(a.roles, name{namespace, roleName})
}

// SetRoleBinding adds or changes a role binding.
func (a *Authorizer) SetRoleBinding(b *rbacv1.RoleBinding) {
	a.setBinding(name{b.Namespace, b.Name}, versionOf(b), b.RoleRef, b.Subjects)
}

// SetClusterRoleBinding adds or changes a cluster role binding.
func (a *Authorizer) SetClusterRoleBinding(b *rbacv1.ClusterRoleBinding) {
	a.setBinding(name{"", b.Name}, versionOf(b), b.RoleRef, b.Subjects)
}

// DeleteBinding forgets a role binding, or with namespace "" a cluster role
// binding.
func (a *Authorizer) DeleteBinding(namespace, bindingName string) {
	a.mu.Lock()
	defer a.mu.Unlock()
	a.dropBinding(name{namespace, bindingName})
}

func (a *Authorizer) setRole(n name, version uint64, rules []rbacv1.PolicyRule) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.roles[n]; ok && version < known.version {
		return
	}
	a.roles[n] = role{version, rules}
	a.announce()
}

func (a *Authorizer) setBinding(n name, version uint64, ref rbacv1.RoleRef, subjects []rbacv1.Subject) {
	a.mu.Lock()
	defer a.mu.Unlock()
	if known, ok := a.bindings[n]; ok && version < known.version {
		return
	}
	a.dropBinding(n)
	b := &binding{name: n, version: version, ref: ref}
	for _, s := range subjects {
		key, ok := keyOf(s, n.namespace)
		if !ok {
			continue
		}
		g := &grant{binding: b, subject: s, key: key, reason: "RBAC: allowed by " + describe(b, s)}
		b.grants = append(b.grants, g)
		a.grants[key] = append(a.grants[key], g)
	}
	a.bindings[n] = b
	a.announce()
}

// announce wakes those who wait for a change; mu is held.
func (a *Authorizer) announce() {
	if a.changed != nil {
		close(a.changed)
		a.changed = nil
	}
}

// Await returns when decisions are by these roles and bindings, in the versions given or in
// later ones, or with ctx's error. One that was deleted is waited for in vain.
func (a *Authorizer) Await(ctx context.Context, policy []metav1.Object) error {
	for {
		changed := a.nextChange()
		policy = slices.DeleteFunc(slices.Clone(policy), a.knows)
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

// knows reports whether decisions are by the object, or by a later version of it.
func (a *Authorizer) knows(o metav1.Object) bool {
	a.mu.RLock()
	defer a.mu.RUnlock()
	n := name{o.GetNamespace(), o.GetName()}
	switch o.(type) {
	case *rbacv1.Role, *rbacv1.ClusterRole:
		r, ok := a.roles[n]
		return ok && r.version >= versionOf(o)
	default:
		b, ok := a.bindings[n]
		return ok && b.version >= versionOf(o)
	}
}

func (a *Authorizer) dropBinding(n name) {
	b := a.bindings[n]
	if b == nil {
		return
	}
	delete(a.bindings, n)
	for _, g := range b.grants {
		left := without(a.grants[g.key], b)
		if len(left) == 0 {
			delete(a.grants, g.key)
		} else {
			a.grants[g.key] = left
		}
	}
}

// without copies: readers of the rules hold the old slice.
func without(grants []*grant, b *binding) []*grant {
	left := make([]*grant, 0, len(grants))
	for _, g := range grants {
		if g.binding != b {
			left = append(left, g)
		}
	}
	return left
}

// keyOf says under which user or group a subject is found; service accounts are
// found under their user name.
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

// versionOf orders the versions of one object; 0 where it says none.
func versionOf(o metav1.Object) uint64 {
	v, _ := strconv.ParseUint(o.GetResourceVersion(), 10, 64)
	return v
}

// Handler feeds the authorizer from an informer of any of the four kinds.
func (a *Authorizer) Handler() cache.ResourceEventHandler {
	return cache.ResourceEventHandlerFuncs{
		AddFunc:    a.set,
		UpdateFunc: func(_, o any) { a.set(o) },
		DeleteFunc: a.remove,
	}
}

func (a *Authorizer) set(o any) {
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

func (a *Authorizer) remove(o any) {
	if gone, ok := o.(cache.DeletedFinalStateUnknown); ok {
		o = gone.Obj
	}
	switch o := o.(type) {
	case *rbacv1.Role:
		a.DeleteRole(o.Namespace, o.Name)
	case *rbacv1.ClusterRole:
		a.DeleteRole("", o.Name)
	case *rbacv1.RoleBinding:
		a.DeleteBinding(o.Namespace, o.Name)
	case *rbacv1.ClusterRoleBinding:
		a.DeleteBinding("", o.Name)
	}
}
