package core

import (
	"context"
	"fmt"
	"net"
	"strconv"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/registry"
	"triplane/kubeapi/check"
	"triplane/kubeapi/show"
)

// endpointsKind declares endpoints.
func endpointsKind() registry.Kind[*corev1.Endpoints] {
	return registry.Kind[*corev1.Endpoints]{
		Hub: kind("Endpoints"), Namespaced: true,
		Prefix:  "services/endpoints",
		New:     func() *corev1.Endpoints { return &corev1.Endpoints{} },
		NewList: func() runtime.Object { return &corev1.EndpointsList{} },
		Names:   registry.Names{Plural: "endpoints", Singular: "endpoints", ShortNames: []string{"ep"}},
		Write: registry.Write[*corev1.Endpoints]{
			AllowCreateOnUpdate:      true,
			AllowUnconditionalUpdate: true,
			Default: func(e *corev1.Endpoints) {
				for i := range e.Subsets {
					for j := range e.Subsets[i].Ports {
						if p := &e.Subsets[i].Ports[j]; p.Protocol == "" {
							p.Protocol = corev1.ProtocolTCP
						}
					}
				}
			},
			Validate: func(_ context.Context, e *corev1.Endpoints) field.ErrorList { return validateEndpoints(e) },
			ValidateUpdate: func(_ context.Context, e, _ *corev1.Endpoints) field.ErrorList {
				return validateEndpoints(e)
			},
		},
		Show: registry.Show[*corev1.Endpoints]{
			Columns: []registry.Column{
				show.Name(), show.Text("Endpoints", show.Doc(corev1.Endpoints{}, "subsets")), show.Age(),
			},
			Cells: func(e *corev1.Endpoints, since func(metav1.Time) string) []any {
				return []any{e.Name, endpointsCell(e), since(e.CreationTimestamp)}
			},
		},
		Deprecation: "v1 Endpoints is deprecated in v1.33+; use discovery.k8s.io/v1 EndpointSlice",
	}
}

func validateEndpoints(e *corev1.Endpoints) field.ErrorList {
	var errs field.ErrorList
	for i := range e.Subsets {
		ss, path := &e.Subsets[i], field.NewPath("subsets").Index(i)
		if len(ss.Addresses) == 0 && len(ss.NotReadyAddresses) == 0 {
			errs = append(errs, field.Required(path, "must specify `addresses` or `notReadyAddresses`"))
		}
		for j := range ss.Addresses {
			errs = append(errs, endpointAddress(&ss.Addresses[j], path.Child("addresses").Index(j))...)
		}
		for j := range ss.NotReadyAddresses {
			errs = append(errs, endpointAddress(&ss.NotReadyAddresses[j], path.Child("notReadyAddresses").Index(j))...)
		}
		for j := range ss.Ports {
			errs = append(errs, endpointPort(&ss.Ports[j], len(ss.Ports) > 1, path.Child("ports").Index(j))...)
		}
	}
	return errs
}

func endpointAddress(a *corev1.EndpointAddress, path *field.Path) field.ErrorList {
	errs := utilvalidation.IsValidIP(path.Child("ip"), a.IP)
	if a.Hostname != "" {
		errs = append(errs, check.Label(a.Hostname, path.Child("hostname"))...)
	}
	if a.NodeName != nil {
		errs = append(errs, check.Subdomain(*a.NodeName, path.Child("nodeName"))...)
	}
	return append(errs, check.EndpointIP(a.IP, path.Child("ip"))...)
}

func endpointPort(p *corev1.EndpointPort, needsName bool, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if needsName && p.Name == "" {
		errs = append(errs, field.Required(path.Child("name"), ""))
	} else if p.Name != "" {
		errs = append(errs, check.Label(p.Name, path.Child("name"))...)
	}
	for _, msg := range utilvalidation.IsValidPortNum(int(p.Port)) {
		errs = append(errs, field.Invalid(path.Child("port"), p.Port, msg))
	}
	if p.Protocol == "" {
		errs = append(errs, field.Required(path.Child("protocol"), ""))
	} else {
		errs = append(errs, check.OneOf(p.Protocol, path.Child("protocol"), corev1.ProtocolSCTP, corev1.ProtocolTCP, corev1.ProtocolUDP)...)
	}
	if p.AppProtocol != nil {
		errs = append(errs, check.QualifiedName(*p.AppProtocol, path.Child("appProtocol"))...)
	}
	return errs
}

// endpointsCell shows the first three addresses.
func endpointsCell(e *corev1.Endpoints) string {
	const most = 3
	var out []string
	count := 0
	one := func(text string) {
		if count++; len(out) < most {
			out = append(out, text)
		}
	}
	for i := range e.Subsets {
		ss := &e.Subsets[i]
		if len(ss.Ports) == 0 {
			for j := range ss.Addresses {
				one(ss.Addresses[j].IP)
			}
		}
		for j := range ss.Ports {
			for k := range ss.Addresses {
				one(net.JoinHostPort(ss.Addresses[k].IP, strconv.Itoa(int(ss.Ports[j].Port))))
			}
		}
	}
	switch {
	case count == 0:
		return "<none>"
	case count > most:
		return fmt.Sprintf("%s + %d more...", strings.Join(out, ","), count-most)
	}
	return strings.Join(out, ",")
}
