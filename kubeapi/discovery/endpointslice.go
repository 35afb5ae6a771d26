package discovery

import (
	"cmp"
	"context"
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

type slice = *discoveryv1.EndpointSlice

// endpointSliceKind declares slices; ips validates IPv4 addresses. Those of IPv6 were always strict.
func endpointSliceKind(ips check.Addresses) kind.Kind[slice] {
	return kind.Kind[slice]{
		Namespaced:     true,
		Representation: kind.Typed[slice]{Former: formerSlices()},
		Write: kind.Write[slice]{
			AllowUnconditionalUpdate: kind.Always,
			Default:                  defaultSlice,
			Prepare:                  prepare,
			Warnings: func(_ context.Context, s, _ slice) []string {
				if s.AddressType == discoveryv1.AddressTypeFQDN {
					return []string{"spec.addressType: FQDN endpoints are deprecated"}
				}
				if ips.Loose {
					return addressWarnings(s)
				}
				return nil
			},
			Validate: func(_ context.Context, s, old slice) field.ErrorList { return validateSlice(s, old, ips) },
		},
		Columns: show.Columns(show.Path("addressType"),
			show.Cell("Ports", ".ports", portsCell), show.Cell("Endpoints", ".endpoints", endpointsCell)),
	}
}

// dropTopology drops what v1beta1 knew of an endpoint's place, unless the slice
// says the same of an endpoint already.
func dropTopology(s, old slice) {
	for i := range s.Endpoints {
		e := &s.Endpoints[i]
		if old == nil || !slices.ContainsFunc(old.Endpoints, func(o discoveryv1.Endpoint) bool {
			return maps.Equal(o.DeprecatedTopology, e.DeprecatedTopology)
		}) {
			e.DeprecatedTopology = nil
		}
	}
}

func defaultSlice(s slice) {
	for i := range s.Ports {
		p := &s.Ports[i]
		if p.Name == nil {
			p.Name = new(string)
		}
		if p.Protocol == nil {
			tcp := corev1.ProtocolTCP
			p.Protocol = &tcp
		}
	}
}

const (
	maxEndpoints = 1000
	maxPorts     = 20000
	maxAddresses = 100
	maxHints     = 8
)

// validateSlice validates a slice, but not the stored endpoints.
func validateSlice(s, old slice, ips check.Addresses) field.ErrorList {
	errs := slicePorts(s.Ports, field.NewPath("ports"))
	list := field.NewPath("endpoints")
	var counts field.ErrorList // behind the others, as those of markers of the Go types
	switch {
	case old != nil && !check.Differs(s.Endpoints, old.Endpoints):
	case len(s.Endpoints) > maxEndpoints:
		errs = append(errs, field.TooMany(list, len(s.Endpoints), maxEndpoints))
	default:
		for i := range s.Endpoints {
			errs = append(errs, validateEndpoint(&s.Endpoints[i], s.AddressType, list.Index(i), ips)...)
			counts = append(counts, addressCount(len(s.Endpoints[i].Addresses), list.Index(i).Child("addresses"))...)
		}
	}
	kind := field.NewPath("addressType")
	errs = append(errs, addressType(s.AddressType, kind)...)
	if old != nil {
		errs = append(errs, check.Fixed(s.AddressType, old.AddressType, kind)...)
	}
	return append(errs, counts...)
}

func addressType(t discoveryv1.AddressType, path *field.Path) field.ErrorList {
	if t == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return check.OneOf(t, path, discoveryv1.AddressTypeFQDN, discoveryv1.AddressTypeIPv4, discoveryv1.AddressTypeIPv6)
}

func validateEndpoint(e *discoveryv1.Endpoint, t discoveryv1.AddressType, path *field.Path,
	ips check.Addresses) field.ErrorList {
	var errs field.ErrorList
	for i, a := range e.Addresses {
		errs = append(errs, address(a, t, path.Child("addresses"), i, ips)...)
	}
	if n := e.NodeName; n != nil {
		errs = append(errs, check.Subdomain(*n, path.Child("nodeName"))...)
	}
	for _, k := range sets.List(sets.KeySet(e.DeprecatedTopology)) {
		errs = append(errs, check.QualifiedName(k, path.Child("deprecatedTopology").Key(k))...)
	}
	if h := e.Hostname; h != nil {
		errs = append(errs, check.Label(*h, path.Child("hostname"))...)
	}
	if e.Hints != nil {
		errs = append(errs, hints(e.Hints, path.Child("hints"))...)
	}
	return errs
}

func addressCount(n int, path *field.Path) field.ErrorList {
	switch {
	case n == 0:
		return field.ErrorList{field.Required(path, "")}
	case n > maxAddresses:
		return field.ErrorList{field.TooMany(path, n, maxAddresses)}
	}
	return nil
}

// address validates an element of the list; one of the other IP family is refused
// as the list's error.
func address(a string, t discoveryv1.AddressType, list *field.Path, i int, ips check.Addresses) field.ErrorList {
	path := list.Index(i)
	var errs, family field.ErrorList
	switch t {
	case discoveryv1.AddressTypeFQDN:
		return utilvalidation.IsFullyQualifiedDomainName(path, a)
	case discoveryv1.AddressTypeIPv4:
		if errs = ips.IP(a, path); !isIPv4(a) {
			family = field.ErrorList{field.Invalid(list, a, "must be an IPv4 address")}
		}
	case discoveryv1.AddressTypeIPv6:
		if errs = utilvalidation.IsValidIP(path, a); isIPv4(a) {
			family = field.ErrorList{field.Invalid(list, a, "must be an IPv6 address")}
		}
	default:
		return nil
	}
	if len(errs) > 0 {
		return errs
	}
	return append(family, check.EndpointIP(a, path)...)
}

func isIPv4(a string) bool {
	ip, ok := check.ParseIP(a)
	return ok && ip.Is4()
}

func addressWarnings(s slice) []string {
	var w []string
	for i, e := range s.Endpoints {
		for j, a := range e.Addresses {
			w = append(w, utilvalidation.GetWarningsForIP(field.NewPath("endpoints").Index(i).Child("addresses").Index(j), a)...)
		}
	}
	return w
}

func hints(h *discoveryv1.EndpointHints, path *field.Path) field.ErrorList {
	zones := make([]string, len(h.ForZones))
	for i, z := range h.ForZones {
		zones[i] = z.Name
	}
	nodes := make([]string, len(h.ForNodes))
	for i, n := range h.ForNodes {
		nodes[i] = n.Name
	}
	errs := hintNames(zones, check.LabelValue, path.Child("forZones"))
	if len(zones) > maxHints {
		return errs
	}
	return append(errs, hintNames(nodes, check.Subdomain, path.Child("forNodes"))...)
}

// hintNames validates the names of what an endpoint is for, which are not many and
// differ.
func hintNames(names []string, valid func(string, *field.Path) field.ErrorList, path *field.Path) field.ErrorList {
	if len(names) > maxHints {
		return field.ErrorList{field.TooMany(path, len(names), maxHints)}
	}
	var errs field.ErrorList
	seen := sets.New[string]()
	for i, name := range names {
		p := path.Index(i).Child("name")
		if seen.Has(name) {
			errs = append(errs, field.Duplicate(p, name))
		}
		seen.Insert(name)
		errs = append(errs, valid(name, p)...)
	}
	return errs
}

func slicePorts(ports []discoveryv1.EndpointPort, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	if len(ports) > maxPorts {
		return field.ErrorList{field.TooMany(list, len(ports), maxPorts)}
	}
	names := sets.New[string]()
	for i := range ports {
		p, path := &ports[i], list.Index(i)
		name := ptr.Deref(p.Name, "")
		if name != "" {
			errs = append(errs, check.Label(name, path.Child("name"))...)
		}
		if names.Has(name) {
			errs = append(errs, field.Duplicate(path.Child("name"), name))
		}
		names.Insert(name)
		errs = append(errs, check.OneOf(ptr.Deref(p.Protocol, ""), path.Child("protocol"), corev1.ProtocolSCTP,
			corev1.ProtocolTCP, corev1.ProtocolUDP)...)
		if p.AppProtocol != nil {
			errs = append(errs, check.QualifiedName(*p.AppProtocol, path.Child("appProtocol"))...)
		}
	}
	return errs
}

const shown = 3

func portsCell(s slice) string {
	ports := s.Ports
	if len(ports) == 0 {
		return "<unset>"
	}
	var out []string
	for i := range ports {
		if i == shown {
			break
		}
		switch p := &ports[i]; {
		case p.Port != nil:
			out = append(out, strconv.Itoa(int(*p.Port)))
		default:
			out = append(out, ptr.Deref(p.Name, ""))
		}
	}
	return cmp.Or(more(out, len(ports)), "<unset>")
}

func endpointsCell(s slice) string {
	endpoints := s.Endpoints
	if len(endpoints) == 0 {
		return "<unset>"
	}
	var out []string
	count := 0
	for i := range endpoints {
		for _, a := range endpoints[i].Addresses {
			if count++; count <= shown {
				out = append(out, a)
			}
		}
	}
	return more(out, count)
}

func more(list []string, total int) string {
	text := strings.Join(list, ",")
	if total > shown {
		return fmt.Sprintf("%s + %d more...", text, total-shown)
	}
	return text
}

func prepare(_ context.Context, s, old slice) {
	if old == nil {
		dropTopology(s, nil)
		s.Generation = 1
		return
	}
	now, before := s.DeepCopy(), old.DeepCopy()
	now.TypeMeta, now.ObjectMeta, before.ObjectMeta = old.TypeMeta, old.ObjectMeta, old.ObjectMeta
	if check.Differs(now, before) || check.Differs(s.Labels, old.Labels) {
		s.Generation = old.Generation + 1
	}
	dropTopology(s, old) // a try to set it counts as a change
}
