package resource

import (
	"context"
	"fmt"
	"maps"
	"slices"

	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane/generic/authentication/user"
	"triplane/generic/authorization/authorizer"
	"triplane/generic/request"
	"triplane/kubeapi/check"
)

const gateStatusAccess = "DRAResourceClaimGranularStatusAuthorization"

// statusAccess decides who may change which part of a claim's status: the
// allocation and the reservations whoever may VERB resourceclaims/binding in the cluster, the
// status of a driver's devices whoever may arbitrary-node:VERB resourceclaims/driver of the
// driver's name in the namespace, or associated-node:VERB as a service account on the node
// that the claim is allocated on.
type statusAccess struct{ authorizer authorizer.Authorizer }

// validate returns the errors of a request that has the permission to write the status as
// a whole. A nil authorizer allows everything.
func (s *statusAccess) validate(ctx context.Context, c, old claim) field.ErrorList {
	if s == nil || s.authorizer == nil {
		return nil
	}
	info, who := request.InfoFrom(ctx), request.UserFrom(ctx)
	if info == nil || who == nil || who.InGroup(user.SystemPrivileged) {
		return nil
	}
	var errs field.ErrorList
	now, was := &c.Status, &old.Status
	if check.Differs(now.Allocation, was.Allocation) || check.Differs(now.ReservedFor, was.ReservedFor) {
		a := permission(who, info.Verb, "binding")
		if reason := s.refusal(ctx, a); reason != "" {
			errs = append(errs, field.Forbidden(field.NewPath("status", "allocation"), fmt.Sprintf(
				"changing status.allocation or status.reservedFor requires resource=%q, verb=%q permission: %s", "resourceclaims/binding", info.Verb, reason)))
		}
	}
	verbs := driverVerbs(who, info.Verb, c)
	for _, driver := range changedDrivers(now.Devices, was.Devices) {
		if reason := s.driverRefusal(ctx, who, verbs, c.Namespace, driver); reason != "" {
			errs = append(errs, field.Forbidden(field.NewPath("status", "devices"), fmt.Sprintf(
				"changing status.devices requires resource=%q, verb=\"%v\" permission: %s", "resourceclaims/driver", verbs, reason)))
		}
	}
	return errs
}

func permission(who *user.Info, verb, subresource string) *authorizer.Attributes {
	return &authorizer.Attributes{User: who, Verb: verb, APIGroup: v1.Group, APIVersion: v1.Version,
		Resource: "resourceclaims", Subresource: subresource, ResourceRequest: true}
}

// driverRefusal is "" where one of the verbs is allowed, and why the first is not otherwise.
func (s *statusAccess) driverRefusal(ctx context.Context, who *user.Info, verbs []string, namespace, driver string) string {
	first := ""
	for _, verb := range verbs {
		a := permission(who, verb, "driver")
		a.Namespace, a.Name = namespace, driver
		reason := s.refusal(ctx, a)
		if reason == "" {
			return ""
		}
		if first == "" {
			first = reason
		}
	}
	return first
}

// refusal says why something is not allowed, "" if it is.
func (s *statusAccess) refusal(ctx context.Context, a *authorizer.Attributes) string {
	decision, reason, err := s.authorizer.Authorize(ctx, a)
	if decision == authorizer.Allow {
		return ""
	}
	text := "resourceclaims." + v1.Group
	if a.Name != "" {
		text += fmt.Sprintf(" %q", a.Name)
	}
	text += fmt.Sprintf(" is forbidden: User %q cannot %s resource %q in API group %q ", a.User.Name, a.Verb, "resourceclaims/"+a.Subresource, v1.Group)
	if a.Namespace != "" {
		text += fmt.Sprintf("in the namespace %q", a.Namespace)
	} else {
		text += "at the cluster scope"
	}
	switch {
	case err != nil:
		text += ": " + err.Error()
	case reason != "":
		text += ": " + reason
	}
	return text
}

const nodeNameKey = "authentication.kubernetes.io/node-name"

// driverVerbs are the verbs one of which allows a user to write the status of devices.
func driverVerbs(who *user.Info, verb string, c claim) []string {
	verbs := []string{"arbitrary-node:" + verb}
	if _, _, ok := user.ServiceAccount(who.Name); !ok || c.Status.Allocation == nil {
		return verbs
	}
	node := nodeOf(c.Status.Allocation.NodeSelector)
	if on := who.Extra[nodeNameKey]; node != "" && len(on) == 1 && on[0] == node {
		return append([]string{"associated-node:" + verb}, verbs...)
	}
	return verbs
}

// nodeOf is the node that a selector selects by nothing but its name, "" for all others.
func nodeOf(s *corev1.NodeSelector) string {
	if s == nil || len(s.NodeSelectorTerms) != 1 {
		return ""
	}
	t := s.NodeSelectorTerms[0]
	if len(t.MatchExpressions) > 0 || len(t.MatchFields) != 1 {
		return ""
	}
	f := t.MatchFields[0]
	if f.Key != "metadata.name" || f.Operator != corev1.NodeSelectorOpIn || len(f.Values) != 1 {
		return ""
	}
	return f.Values[0]
}

// changedDrivers are the drivers of devices whose status is not what it was, by name.
func changedDrivers(now, was []resourcev1.AllocatedDeviceStatus) []string {
	before := map[deviceID]*resourcev1.AllocatedDeviceStatus{}
	for i := range was {
		before[statusID(&was[i])] = &was[i]
	}
	drivers := map[string]bool{}
	for i := range now {
		id := statusID(&now[i])
		if old, ok := before[id]; !ok || check.Differs(*old, now[i]) {
			drivers[id.Driver] = true
		}
		delete(before, id)
	}
	for id := range before {
		drivers[id.Driver] = true
	}
	return slices.Sorted(maps.Keys(drivers))
}
