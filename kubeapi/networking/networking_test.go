package networking

import (
	"fmt"
	"testing"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/kindtest"
)

func TestIngress(t *testing.T) {
	kindtest.Refused(t, ingressKind(check.Addresses{}), "{}", "spec: Invalid value: null: either `defaultBackend` or `rules` must be specified")
	kindtest.Refused(t, ingressKind(check.Addresses{}), "spec: {rules: [{host: 10.0.0.1, http: {paths: [{path: a//b, pathType: Prefix}]}}]}",
		`spec.rules[0].host: Invalid value: "10.0.0.1": must be a DNS name, not an IP address`,
		`spec.rules[0].http.paths[0].path: Invalid value: "a//b": must be an absolute path`,
		`spec.rules[0].http.paths[0].path: Invalid value: "a//b": must not contain '//'`,
		`spec.rules[0].http.paths[0].backend: Invalid value: "": resource or service backend is required`)
}

func TestNetworkPolicy(t *testing.T) {
	p := kindtest.New(t, networkPolicyKind(check.Addresses{}), "spec: {egress: [{ports: [{port: 1}]}]}")
	if len(p.Spec.PolicyTypes) != 2 || *p.Spec.Egress[0].Ports[0].Protocol != "TCP" {
		t.Errorf("unexpected defaults %+v", p.Spec)
	}
	kindtest.Refused(t, networkPolicyKind(check.Addresses{}), "spec: {ingress: [{from: [{}, {ipBlock: {cidr: 10.0.0.0/8, except: [10.0.0.0/8]}}]}]}",
		"spec.ingress[0].from[0]: Required value: must specify a peer",
		"spec.ingress[0].from[1].ipBlock.except[0]: Invalid value: \"10.0.0.0/8\": must be a strict subset of `cidr`")
	kindtest.Refused(t, networkPolicyKind(check.Addresses{}), "spec: {ingress: [{from: [{ipBlock: {except: [10.0.0.0/8]}}]}], policyTypes: [X]}",
		`spec.policyTypes[0]: Unsupported value: "X": supported values: "Ingress", "Egress"`, "spec.ingress[0].from[0].ipBlock.cidr: Required value")
}

func TestServiceCIDRUpdate(t *testing.T) {
	k := serviceCIDRKind(false)
	kindtest.UpdateRefused(t, k, "spec: {cidrs: [198.51.100.0/24]}", `spec: {cidrs: [198.51.100.0/24, "2001:db8::/64"]}`)
	kindtest.UpdateRefused(t, k, "spec: {cidrs: [198.51.100.0/24]}", "spec: {cidrs: [198.51.101.0/24]}",
		`spec.cidrs[0]: Invalid value: "198.51.101.0/24": field is immutable`)
}

func TestAddressNames(t *testing.T) {
	for name, want := range map[string]int{"198.51.100.7": 0, "2001:db8::7": 0, "2001:DB8::7": 1, "198.051.100.7": 1, "x": 1} {
		if got := len(ipAddressKind().Write.ValidateName(name, false)); got != want {
			t.Errorf("%s: %d faults, want %d", name, got, want)
		}
	}
}

func TestServiceCIDRsMayKeepTheirStatus(t *testing.T) {
	for _, keeps := range []bool{false, true} {
		k := serviceCIDRKind(keeps)
		c := kindtest.New(t, k, "status: {conditions: [{type: Ready}]}")
		updated := &networkingv1.ServiceCIDR{Status: networkingv1.ServiceCIDRStatus{Conditions: make([]metav1.Condition, 2)}}
		kindtest.Update(t, k, updated, c)
		if n, m := len(c.Status.Conditions), len(updated.Status.Conditions); keeps != (n == 1) || keeps != (m == 2) {
			t.Errorf("keeps its status (%t): %d conditions when created, %d when updated", keeps, n, m)
		}
	}
}

// Whoever may write policies decides how many ranges one had, and has.
func TestManyRanges(t *testing.T) {
	policy := func(cidr, format string) *networkingv1.NetworkPolicy {
		block := &networkingv1.IPBlock{CIDR: cidr}
		for i := range 100_000 {
			block.Except = append(block.Except, fmt.Sprintf(format, i>>16, i>>8&255, i&255))
		}
		return &networkingv1.NetworkPolicy{Spec: networkingv1.NetworkPolicySpec{
			Ingress: []networkingv1.NetworkPolicyIngressRule{{From: []networkingv1.NetworkPolicyPeer{{IPBlock: block}}}},
		}}
	}
	begun := time.Now()
	old, now := policy("010.0.0.0/8", "10.%d.%d.%d/32"), policy("010.0.0.0/8", "010.%d.%d.%d/32")
	k := networkPolicyKind(check.Addresses{})
	if errs := k.Write.Validate(t.Context(), old, old); len(errs) != 0 {
		t.Errorf("what was stored is refused: %v", errs[0])
	}
	if errs := k.Write.Validate(t.Context(), now, old); len(errs) != 100_000 {
		t.Errorf("%d errors", len(errs))
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it takes %v", took)
	}
}
