package roleaggregation

import (
	"fmt"
	"reflect"
	"testing"
	"time"

	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

func role(name string, rules ...rbacv1.PolicyRule) *rbacv1.ClusterRole {
	return &rbacv1.ClusterRole{ObjectMeta: metav1.ObjectMeta{Name: name, Labels: map[string]string{"to": "all"}}, Rules: rules}
}

func rule(verb string) rbacv1.PolicyRule {
	return rbacv1.PolicyRule{Verbs: []string{verb}, APIGroups: []string{""}, Resources: []string{"pods"}}
}

// Rules are collected in order without duplicates, and without those of the role itself.
func TestCollect(t *testing.T) {
	all := metav1.LabelSelector{MatchLabels: map[string]string{"to": "all"}}
	into := role("into", rule("own"))
	into.AggregationRule = &rbacv1.AggregationRule{ClusterRoleSelectors: []metav1.LabelSelector{all, all}}
	empty := rule("get")
	empty.ResourceNames = []string{} // means the same as none
	got, err := collect(into, []*rbacv1.ClusterRole{role("a", rule("get"), rule("list"), empty), role("b", rule("list"), rule("watch")), into})
	if want := []rbacv1.PolicyRule{rule("get"), rule("list"), rule("watch")}; err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v (%v)", got, err)
	}

	many := role("many")
	for i := range 50_000 {
		many.Rules = append(many.Rules, rule(fmt.Sprint("verb", i)))
	}
	begun := time.Now()
	if got, err := collect(into, []*rbacv1.ClusterRole{many}); err != nil || len(got) != len(many.Rules) {
		t.Errorf("%d rules (%v)", len(got), err)
	}
	if took := time.Since(begun); took > 10*time.Second { // compared each with all they take minutes
		t.Errorf("it takes %v", took)
	}
}
