package rbac

import (
	"context"
	"strings"
	"testing"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// FuzzRules compares decisions with those of a naive evaluator, and Covers with decisions: if a rule covers
// another one, it must allow everything that the other one allows.
func FuzzRules(f *testing.F) {
	f.Add("get,list", ",apps", "pods,deployments/scale", "", "", "get", "apps", "deployments", "scale", "a", "", uint8(0))
	f.Add("*", "*", "*/scale", "a,b", "", "get", "", "pods", "scale", "a", "", uint8(1))
	f.Add("get", "", "", "", "/logs/*,/x", "get", "", "", "", "", "/logs/a", uint8(2))
	f.Add("get", "*", "*", "", "*", "get", "", "pods", "", "", "/", uint8(3))
	f.Fuzz(func(t *testing.T, verbs, groups, resources, names, urls, verb, group, resource, subresource, name, path string, shape uint8) {
		rule := rbacv1.PolicyRule{Verbs: list(verbs), APIGroups: strings.Split(groups, ","), Resources: list(resources), ResourceNames: list(names), NonResourceURLs: list(urls)}
		attrs := &authorizer.Attributes{User: &user.Info{Name: "u", Groups: []string{"g"}}, Verb: verb, ResourceRequest: shape&1 == 0, Path: path}
		if attrs.ResourceRequest {
			attrs.APIGroup, attrs.Resource, attrs.Subresource, attrs.Name = group, resource, subresource, name
			if shape&2 != 0 {
				attrs.Namespace = "n"
			}
		}
		a := New()
		a.SetClusterRole(&rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: "r"}, Rules: []rbacv1.PolicyRule{rule}})
		ref := rbacv1.RoleRef{Kind: "ClusterRole", Name: "r"}
		subjects := []rbacv1.Subject{{Kind: rbacv1.GroupKind, Name: "g"}}
		inNamespace := shape&4 != 0
		if inNamespace {
			a.SetRoleBinding(&rbacv1.RoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b", Namespace: "n"}, RoleRef: ref, Subjects: subjects})
		} else {
			a.SetClusterRoleBinding(&rbacv1.ClusterRoleBinding{ObjectMeta: metav1.ObjectMeta{Name: "b"}, RoleRef: ref, Subjects: subjects})
		}
		want := naive(&rule, attrs) && (!inNamespace || attrs.Namespace == "n")
		decision, _, err := a.Authorize(context.Background(), attrs)
		if (decision == authorizer.Allow) != want || err != nil {
			t.Fatalf("%v for %+v of %+v, want %v", decision, attrs, rule, want)
		}
		single := rbacv1.PolicyRule{Verbs: []string{verb}, NonResourceURLs: []string{path}}
		if attrs.ResourceRequest {
			combined := resource
			if subresource != "" {
				combined += "/" + subresource
			}
			single = rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{group}, Resources: []string{combined}}
			if name != "" {
				single.ResourceNames = []string{name}
			}
		}
		if covered, _ := Covers([]rbacv1.PolicyRule{rule}, []rbacv1.PolicyRule{single}); covered && !naive(&rule, attrs) && !strings.ContainsAny(verb+group+resource+subresource+path, "*/") {
			t.Fatalf("%+v covers %+v and does not allow it", rule, single)
		}
	})
}

func list(text string) []string {
	if text == "" {
		return nil
	}
	return strings.Split(text, ",")
}

// naive implements the documentation of RBAC literally.
func naive(r *rbacv1.PolicyRule, a *authorizer.Attributes) bool {
	in := func(list []string, wanted ...string) bool {
		for _, each := range list {
			for _, w := range wanted {
				if each == w {
					return true
				}
			}
		}
		return false
	}
	if !in(r.Verbs, "*", a.Verb) {
		return false
	}
	if !a.ResourceRequest {
		for _, url := range r.NonResourceURLs {
			if url == "*" || url == a.Path || strings.HasSuffix(url, "*") && strings.HasPrefix(a.Path, strings.TrimRight(url, "*")) {
				return true
			}
		}
		return false
	}
	resources := []string{"*", a.Resource}
	if a.Subresource != "" {
		resources = []string{"*", a.Resource + "/" + a.Subresource, "*/" + a.Subresource}
	}
	return in(r.APIGroups, "*", a.APIGroup) && in(r.Resources, resources...) && (len(r.ResourceNames) == 0 || in(r.ResourceNames, a.Name))
}
