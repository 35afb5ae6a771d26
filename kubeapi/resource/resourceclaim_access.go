package resource

import (
	"context"
	"fmt"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/kubeapi/check"
)

// gateStatusAccess has each part of a claim's status authorized for itself.
const gateStatusAccess = "DRAResourceClaimGranularStatusAuthorization"

// statusAccess refuses changes of a claim's status that the user has no permission
// for beside that of the status (KEP-4817): who allocates needs
// "resourceclaims/binding", and a driver "resourceclaims/driver" of the driver's name,
// with verbs that say whether for claims on its node or on any. Otherwise each driver
// could take devices for itself, and forge what others say of theirs.
type statusAccess struct {
	authorizer authorizer.Authorizer // nil allows everything
}

func (s *statusAccess) validate(ctx context.Context, c, old claim) field.ErrorList {
	who := request.UserFrom(ctx)
	if s == nil || s.authorizer == nil || who == nil || who.InGroup(user.SystemPrivileged) {
		return nil
	}
	verb := "update"
	if info := request.InfoFrom(ctx); info != nil {
		verb = info.Verb
	}
	ask := &question{authorizer: s.authorizer, who: who, verb: verb, namespace: c.Namespace}
	return append(ask.binding(ctx, c, old), ask.drivers(ctx, c, old)...)
}

// question is what one user wants to do to a claim's status.
type question struct {
	authorizer      authorizer.Authorizer
	who             *user.Info
	verb, namespace string
}

// may returns the refusal of one permission, nil where the user has it.
func (q *question) may(ctx context.Context, verb, subresource, namespace, name string) error {
	a := &authorizer.Attributes{
		User: q.who, Verb: verb, APIGroup: v1.Group, APIVersion: v1.Version, Resource: "resourceclaims",
		Subresource: subresource,
		Namespace:   namespace, Name: name, ResourceRequest: true,
	}
	decision, reason, err := q.authorizer.Authorize(ctx, a)
	if err == nil && decision == authorizer.Allow {
		return nil
	}
	return authorization.Forbidden(a, reason)
}

// binding is about what the scheduler writes. As at kube-apiserver, the permission is
// one for all namespaces.
func (q *question) binding(ctx context.Context, c, old claim) field.ErrorList {
	if !check.Differs(c.Status.Allocation, old.Status.Allocation) &&
		!check.Differs(c.Status.ReservedFor, old.Status.ReservedFor) {
		return nil
	}
	err := q.may(ctx, q.verb, "binding", "", "")
	if err == nil {
		return nil
	}
	return field.ErrorList{field.Forbidden(field.NewPath("status", "allocation"), fmt.Sprintf(
		"changing status.allocation or status.reservedFor requires resource=\"resourceclaims/binding\", verb=%q permission: %v", q.verb, err))}
}

// drivers is about what drivers say of their devices. A claim without an allocation
// has none, so that what they said goes with it.
func (q *question) drivers(ctx context.Context, c, old claim) field.ErrorList {
	if c.Status.Allocation == nil {
		return nil
	}
	verbs := []string{"arbitrary-node:" + q.verb}
	if runsOn(q.who, c.Status.Allocation.NodeSelector) {
		verbs = slices.Insert(verbs, 0, "associated-node:"+q.verb)
	}
	var errs field.ErrorList
	for _, driver := range changedDrivers(c.Status.Devices, old.Status.Devices) {
		if err := q.either(ctx, verbs, driver); err != nil {
			errs = append(errs, field.Forbidden(field.NewPath("status", "devices"), fmt.Sprintf(
				"changing status.devices requires resource=\"resourceclaims/driver\", verb=%q permission: %v",
				fmt.Sprint(verbs), err)))
		}
	}
	return errs
}

// either returns the first refusal where the user has none of the verbs.
func (q *question) either(ctx context.Context, verbs []string, driver string) (refusal error) {
	for _, verb := range verbs {
		err := q.may(ctx, verb, "driver", q.namespace, driver)
		if err == nil {
			return nil
		}
		if refusal == nil {
			refusal = err
		}
	}
	return refusal
}

// runsOn reports whether the user is a pod's service account and the selector selects
// the pod's node alone, by its name.
func runsOn(who *user.Info, s *corev1.NodeSelector) bool {
	nodes := who.Extra[user.NodeNameKey]
	if _, _, ok := user.ServiceAccount(who.Name); !ok || len(nodes) != 1 || nodes[0] == "" || s == nil ||
		len(s.NodeSelectorTerms) != 1 {
		return false
	}
	t := &s.NodeSelectorTerms[0]
	if len(t.MatchExpressions) > 0 || len(t.MatchFields) != 1 {
		return false
	}
	f := &t.MatchFields[0]
	return f.Key == metav1.ObjectNameField && f.Operator == corev1.NodeSelectorOpIn && slices.Equal(f.Values, nodes)
}

// changedDrivers returns the drivers of devices that came, went or changed, sorted.
func changedDrivers(now, before []resourcev1.AllocatedDeviceStatus) []string {
	var drivers []string
	changed := func(of, than []resourcev1.AllocatedDeviceStatus) {
		known := map[deviceID]*resourcev1.AllocatedDeviceStatus{}
		for i := range than {
			known[statusID(&than[i])] = &than[i]
		}
		for i := range of {
			if other := known[statusID(&of[i])]; other == nil || check.Differs(&of[i], other) {
				drivers = append(drivers, of[i].Driver)
			}
		}
	}
	changed(now, before)
	changed(before, now)
	slices.Sort(drivers)
	return slices.Compact(drivers)
}
