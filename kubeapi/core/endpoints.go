package core

import (
	"cmp"
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

// endpointsKind declares endpoints.
func endpointsKind(a check.Addresses) kind.Kind[*corev1.Endpoints] {
	type endpoints = *corev1.Endpoints
	return kind.Kind[endpoints]{
		Namespaced: true, Names: kind.Names{ShortNames: []string{"ep"}},
		Prefix: "services/endpoints",
		Write: kind.Write[endpoints]{
			AllowCreateOnUpdate: true, AllowUnconditionalUpdate: kind.Always,
			Default: func(e endpoints) {
				for i := range e.Subsets {
					for j := range e.Subsets[i].Ports {
						p := &e.Subsets[i].Ports[j]
						p.Protocol = cmp.Or(p.Protocol, corev1.ProtocolTCP)
					}
				}
			},
			Validate: kind.Whole(func(e endpoints) field.ErrorList { return validateEndpoints(e, a) }),
			Warnings: endpointsWarnings,
		},
		Columns:     show.Columns(show.Cell("Endpoints", ".subsets", endpointsCell)),
		Deprecation: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
	}
}

// endpointsWarnings are about addresses that have other forms than other clients may expect.
func endpointsWarnings(_ context.Context, e, _ *corev1.Endpoints) []string {
	var w []string
	addresses := func(all []corev1.EndpointAddress, list *field.Path) {
		for i := range all {
			w = append(w, utilvalidation.GetWarningsForIP(list.Index(i).Child("ip"), all[i].IP)...)
		}
	}
	for i := range e.Subsets {
		path := field.NewPath("subsets").Index(i)
		addresses(e.Subsets[i].Addresses, path.Child("addresses"))
		addresses(e.Subsets[i].NotReadyAddresses, path.Child("notReadyAddresses"))
	}
	return w
}

// endpointsCell shows the first three endpoints: addresses with each of their ports. All are counted, and no
// others are written out: there may be billions of them.
func endpointsCell(e *corev1.Endpoints) string {
	const most = 3
	var out []string
	count := 0
	add := func(addresses []corev1.EndpointAddress, text func(ip string) string) {
		count += len(addresses)
		for i := 0; i < len(addresses) && len(out) < most; i++ {
			out = append(out, text(addresses[i].IP))
		}
	}
	for i := range e.Subsets {
		ss := &e.Subsets[i]
		if len(ss.Ports) == 0 {
			add(ss.Addresses, func(ip string) string { return ip })
		}
		for j := range ss.Ports {
			add(ss.Addresses, func(ip string) string { return net.JoinHostPort(ip, strconv.Itoa(int(ss.Ports[j].Port))) })
		}
	}
	switch {
	case len(e.Subsets) == 0:
		return "<none>"
	case count > most:
		return fmt.Sprintf("%s + %d more...", strings.Join(out, ","), count-most)
	}
	return strings.Join(out, ",")
}
