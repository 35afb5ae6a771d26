package bootstrap

import (
	"maps"
	"slices"
	"strings"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

const (
	controllerPrefix = "system:controller:"
	aggregateLabel   = "rbac.authorization.k8s.io/aggregate-to-"
	// autoUpdate marks objects that are brought up to date at every start;
	// whoever sets it to "false" keeps what he changed.
	autoUpdate = rbacv1.AutoUpdateAnnotationKey
)

// words splits a list; "core" stands for the core group's empty name.
func words(s string) []string {
	list := strings.Fields(s)
	for i := range list {
		if list[i] == "core" {
			list[i] = ""
		}
	}
	return list
}

// rule allows verbs on resources; every argument is a list of words.
func rule(verbs, groups, resources string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: words(verbs), APIGroups: words(groups), Resources: words(resources)}
}

// named is rule for objects of certain names.
func named(verbs, groups, resources, names string) rbacv1.PolicyRule {
	r := rule(verbs, groups, resources)
	r.ResourceNames = words(names)
	return r
}

// paths allows verbs on URL paths.
func paths(verbs, urls string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: words(verbs), NonResourceURLs: words(urls)}
}

func rbacMeta(namespace, name string) metav1.ObjectMeta {
	return metav1.ObjectMeta{
		Namespace: namespace, Name: name,
		Labels:      map[string]string{"kubernetes.io/bootstrapping": "rbac-defaults"},
		Annotations: map[string]string{autoUpdate: "true"},
	}
}

func clusterRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	rules = slices.DeleteFunc(rules, func(r rbacv1.PolicyRule) bool { return len(r.Verbs) == 0 })
	return &rbacv1.ClusterRole{ObjectMeta: rbacMeta("", name), Rules: rules}
}

func controllerRole(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return clusterRole(controllerPrefix+name, rules...)
}

// aggregateTo labels a role so that another one collects its rules.
func aggregateTo(r *rbacv1.ClusterRole, target string) *rbacv1.ClusterRole {
	r.Labels = maps.Clone(r.Labels)
	r.Labels[aggregateLabel+target] = "true"
	return r
}

// aggregated makes a role collect the rules of those labelled for it.
func aggregated(r *rbacv1.ClusterRole, target string) *rbacv1.ClusterRole {
	r.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{
		{MatchLabels: map[string]string{aggregateLabel + target: "true"}}}}
	return r
}

func role(namespace, name string, rules ...rbacv1.PolicyRule) *rbacv1.Role {
	return &rbacv1.Role{ObjectMeta: rbacMeta(namespace, name), Rules: rules}
}

func clusterBinding(name, role string, subjects ...rbacv1.Subject) *rbacv1.ClusterRoleBinding {
	return &rbacv1.ClusterRoleBinding{ObjectMeta: rbacMeta("", name), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: role}}
}

func binding(namespace, name, role string, subjects ...rbacv1.Subject) *rbacv1.RoleBinding {
	return &rbacv1.RoleBinding{ObjectMeta: rbacMeta(namespace, name), Subjects: subjects,
		RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "Role", Name: role}}
}

// account is a ServiceAccount of the namespace kube-system.
func account(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.ServiceAccountKind, Namespace: "kube-system", Name: name}
}

func userSubject(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.UserKind, APIGroup: rbacv1.GroupName, Name: name}
}

func groupSubject(name string) rbacv1.Subject {
	return rbacv1.Subject{Kind: rbacv1.GroupKind, APIGroup: rbacv1.GroupName, Name: name}
}

// Features reports which feature gates are on: rules about resources that a gate adds come with it.
type Features func(gate string) bool

// granularClaims is the feature that parts permissions for the status of ResourceClaims.
const granularClaims = "DRAResourceClaimGranularStatusAuthorization"

// with is a rule of a feature; while that is off it allows nothing, and roles are made without it.
func (on Features) with(gate string, r rbacv1.PolicyRule) rbacv1.PolicyRule {
	if !on(gate) {
		return rbacv1.PolicyRule{}
	}
	return r
}

// onlyWith are the items of a feature, none while it is off.
func onlyWith[T any](on Features, gate string, items ...T) []T {
	if !on(gate) {
		return nil
	}
	return items
}

// ClusterRoles returns every default ClusterRole.
func ClusterRoles(on Features) []*rbacv1.ClusterRole {
	return slices.Concat(userRoles(on), systemRoles(on), controllerRoles(on))
}

// ClusterRoleBindings returns every default ClusterRoleBinding.
func ClusterRoleBindings(on Features) []*rbacv1.ClusterRoleBinding {
	all := clusterRoleBindings(on)
	for _, r := range controllerRoles(on) {
		all = append(all, controllerBinding(r))
	}
	return all
}

// controllerBinding binds a controller's role to its service account.
func controllerBinding(r *rbacv1.ClusterRole) *rbacv1.ClusterRoleBinding {
	return clusterBinding(r.Name, r.Name, account(strings.TrimPrefix(r.Name, controllerPrefix)))
}
