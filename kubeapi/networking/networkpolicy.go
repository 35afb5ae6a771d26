package networking

import (
	"context"
	"fmt"
	"reflect"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/intstr"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func localRef(p *networkingv1.IngressClassParametersReference) *corev1.TypedLocalObjectReference {
	return &corev1.TypedLocalObjectReference{APIGroup: p.APIGroup, Kind: p.Kind, Name: p.Name}
}

func networkPolicyKind(a check.Addresses) kind.Kind[*networkingv1.NetworkPolicy] {
	type policy = *networkingv1.NetworkPolicy
	return kind.Kind[policy]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"netpol"}},
		Representation: kind.Typed[policy]{Former: kind.SameFields[policy]("extensions/v1beta1"),
			MetadataOnUpdate: kind.MetadataChange},
		Write: kind.Write[policy]{
			Default:          defaultPolicy,
			CountsGeneration: true, AllowUnconditionalUpdate: kind.Always,
			// An empty selector requirement list and none are different specs here.
			Changed:  func(p, old policy) bool { return !reflect.DeepEqual(p.Spec, old.Spec) },
			Validate: func(_ context.Context, p, old policy) field.ErrorList { return validatePolicy(p, old, a) },
			Warnings: policyWarnings,
		},
		Columns: show.Columns(show.Field("Pod-Selector", "spec.podSelector")),
	}
}

func defaultPolicy(p *networkingv1.NetworkPolicy) {
	for i := range p.Spec.Ingress {
		defaultPorts(p.Spec.Ingress[i].Ports)
	}
	for i := range p.Spec.Egress {
		defaultPorts(p.Spec.Egress[i].Ports)
	}
	if len(p.Spec.PolicyTypes) == 0 {
		p.Spec.PolicyTypes = []networkingv1.PolicyType{networkingv1.PolicyTypeIngress}
		if len(p.Spec.Egress) > 0 {
			p.Spec.PolicyTypes = append(p.Spec.PolicyTypes, networkingv1.PolicyTypeEgress)
		}
	}
}

func defaultPorts(ports []networkingv1.NetworkPolicyPort) {
	for i := range ports {
		if ports[i].Protocol == nil {
			ports[i].Protocol = ptr.To(corev1.ProtocolTCP)
		}
	}
}

// eachPeer calls f for every peer with its path.
func eachPeer(p *networkingv1.NetworkPolicy, f func(*networkingv1.NetworkPolicyPeer, *field.Path)) {
	path := field.NewPath("spec")
	for i, r := range p.Spec.Ingress {
		for k := range r.From {
			f(&r.From[k], path.Child("ingress").Index(i).Child("from").Index(k))
		}
	}
	for i, r := range p.Spec.Egress {
		for k := range r.To {
			f(&r.To[k], path.Child("egress").Index(i).Child("to").Index(k))
		}
	}
}

// cidrsOf are the CIDRs of a stored policy, which may stay as they are.
func cidrsOf(p *networkingv1.NetworkPolicy) sets.Set[string] {
	cidrs := sets.New[string]()
	eachPeer(p, func(peer *networkingv1.NetworkPolicyPeer, _ *field.Path) {
		if peer.IPBlock != nil {
			cidrs.Insert(peer.IPBlock.CIDR).Insert(peer.IPBlock.Except...)
		}
	})
	return cidrs
}

func policyWarnings(_ context.Context, p, _ *networkingv1.NetworkPolicy) []string {
	var warnings []string
	eachPeer(p, func(peer *networkingv1.NetworkPolicyPeer, path *field.Path) {
		if peer.IPBlock == nil {
			return
		}
		block := path.Child("ipBlock")
		warnings = append(warnings, validation.GetWarningsForCIDR(block.Child("cidr"), peer.IPBlock.CIDR)...)
		for i, e := range peer.IPBlock.Except {
			warnings = append(warnings, validation.GetWarningsForCIDR(block.Child("except").Index(i), e)...)
		}
	})
	return warnings
}

func validatePolicy(p, old *networkingv1.NetworkPolicy, a check.Addresses) field.ErrorList {
	if old != nil {
		a.Known = cidrsOf(old)
	}
	path := field.NewPath("spec")
	errs := metavalidation.ValidateLabelSelector(&p.Spec.PodSelector, metavalidation.LabelSelectorValidationOptions{},
		path.Child("podSelector"))
	for i, r := range p.Spec.Ingress {
		errs = append(errs, validatePolicyRule(r.Ports, r.From, a, path.Child("ingress").Index(i), "from")...)
	}
	for i, r := range p.Spec.Egress {
		errs = append(errs, validatePolicyRule(r.Ports, r.To, a, path.Child("egress").Index(i), "to")...)
	}
	types := path.Child("policyTypes")
	if len(p.Spec.PolicyTypes) > 2 {
		errs = append(errs, field.Invalid(types, p.Spec.PolicyTypes, "may not specify more than two policyTypes"))
		return check.DeclaredLast(errs)
	}
	for i, t := range p.Spec.PolicyTypes {
		errs = append(errs, check.OneOf(t, types.Index(i), networkingv1.PolicyTypeIngress, networkingv1.PolicyTypeEgress)...)
	}
	return check.DeclaredLast(errs)
}

func validatePolicyRule(ports []networkingv1.NetworkPolicyPort, peers []networkingv1.NetworkPolicyPeer,
	a check.Addresses, path *field.Path, peerField string) field.ErrorList {
	var errs field.ErrorList
	for i := range ports {
		errs = append(errs, validatePolicyPort(&ports[i], path.Child("ports").Index(i))...)
	}
	for i := range peers {
		errs = append(errs, validatePeer(&peers[i], a, path.Child(peerField).Index(i))...)
	}
	return errs
}

func validatePolicyPort(p *networkingv1.NetworkPolicyPort, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if p.Protocol != nil {
		errs = append(errs, check.OneOf(*p.Protocol, path.Child("protocol"), corev1.ProtocolTCP, corev1.ProtocolUDP,
			corev1.ProtocolSCTP)...)
	}
	end := path.Child("endPort")
	switch {
	case p.Port == nil:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is not specified"))
		}
	case p.Port.Type == intstr.Int:
		for _, m := range validation.IsValidPortNum(int(p.Port.IntVal)) {
			errs = append(errs, field.Invalid(path.Child("port"), p.Port.IntVal, m))
		}
		if p.EndPort != nil {
			if *p.EndPort < p.Port.IntVal {
				errs = append(errs, field.Invalid(end, *p.EndPort, "must be greater than or equal to `port`"))
			}
			for _, m := range validation.IsValidPortNum(int(*p.EndPort)) {
				errs = append(errs, field.Invalid(end, *p.EndPort, m))
			}
		}
	default:
		if p.EndPort != nil {
			errs = append(errs, field.Invalid(end, *p.EndPort, "may not be specified when `port` is non-numeric"))
		}
		errs = append(errs, check.Name(validation.IsValidPortName(p.Port.StrVal), p.Port.StrVal, path.Child("port"))...)
	}
	return errs
}

func validatePeer(p *networkingv1.NetworkPolicyPeer, a check.Addresses, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	peers := 0
	for _, s := range []struct {
		selector *metav1.LabelSelector
		name     string
	}{{p.PodSelector, "podSelector"}, {p.NamespaceSelector, "namespaceSelector"}} {
		if s.selector != nil {
			peers++
			errs = append(errs, metavalidation.ValidateLabelSelector(s.selector, metavalidation.LabelSelectorValidationOptions{},
				path.Child(s.name))...)
		}
	}
	if p.IPBlock != nil {
		peers++
		errs = append(errs, validateIPBlock(p.IPBlock, a, path.Child("ipBlock"))...)
	}
	if peers == 0 {
		errs = append(errs, field.Required(path, "must specify a peer"))
	} else if peers > 1 && p.IPBlock != nil {
		errs = append(errs, field.Forbidden(path, "may not specify both ipBlock and another peer"))
	}
	return errs
}

func validateIPBlock(b *networkingv1.IPBlock, a check.Addresses, path *field.Path) field.ErrorList {
	if b.CIDR == "" {
		return field.ErrorList{field.Required(path.Child("cidr"), "")}
	}
	errs := a.CIDR(b.CIDR, path.Child("cidr"))
	whole, err := parseCIDR(b.CIDR)
	if err != nil {
		return errs
	}
	for i, e := range b.Except {
		at := path.Child("except").Index(i)
		errs = append(errs, a.CIDR(e, at)...)
		part, err := parseCIDR(e)
		if err != nil {
			continue
		}
		wholeBits, _ := whole.Mask.Size()
		partBits, _ := part.Mask.Size()
		if !whole.Contains(part.IP) || wholeBits >= partBits {
			errs = append(errs, field.Invalid(at, e, fmt.Sprintf("must be a strict subset of `%s`", "cidr")))
		}
	}
	return errs
}
