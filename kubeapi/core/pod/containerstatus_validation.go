package pod

import (
	"math"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// containerStatuses validates what a kubelet reports of the containers of a pod: first who
// they run as, then how well the devices are that they were given.
func containerStatuses(p pod, status *field.Path) field.ErrorList {
	var errs field.ErrorList
	s, windows := &p.Status, p.Spec.OS != nil && p.Spec.OS.Name == corev1.Windows
	lists := []struct {
		path       *field.Path
		statuses   []corev1.ContainerStatus
		containers byName
	}{
		{status.Child("containerStatuses"), s.ContainerStatuses, named(p.Spec.Containers)},
		{status.Child("initContainerStatuses"), s.InitContainerStatuses, named(p.Spec.InitContainers)},
		{status.Child("ephemeralContainerStatuses"), s.EphemeralContainerStatuses, nil},
	}
	for _, l := range lists {
		for i := range l.statuses {
			errs = append(errs, containerUser(l.statuses[i].User, windows, l.path.Index(i).Child("user"))...)
		}
	}
	for _, l := range lists[:2] {
		for i := range l.statuses {
			errs = append(errs, resourceStatuses(&l.statuses[i], l.containers,
				l.path.Index(i).Child("allocatedResourcesStatus"))...)
		}
	}
	for i := range s.EphemeralContainerStatuses {
		if len(s.EphemeralContainerStatuses[i].AllocatedResourcesStatus) > 0 {
			errs = append(errs, field.Forbidden(lists[2].path.Index(i).Child("allocatedResourcesStatus"),
				"must not be specified in container status"))
		}
	}
	return errs
}

func containerUser(u *corev1.ContainerUser, windows bool, path *field.Path) field.ErrorList {
	if u == nil || u.Linux == nil {
		return nil
	}
	if path = path.Child("linux"); windows {
		return field.ErrorList{field.Forbidden(path, "cannot be set for a windows pod")}
	}
	var errs field.ErrorList
	id := func(n int64, msgs []string, path *field.Path) {
		for _, m := range msgs {
			errs = append(errs, field.Invalid(path, n, m))
		}
	}
	if n := u.Linux.UID; n < 0 || n > math.MaxUint32 {
		id(n, []string{utilvalidation.InclusiveRangeError(0, math.MaxUint32)}, path.Child("uid"))
	}
	id(u.Linux.GID, utilvalidation.IsValidGroupID(u.Linux.GID), path.Child("gid"))
	for i, g := range u.Linux.SupplementalGroups {
		id(g, utilvalidation.IsValidGroupID(g), path.Child("supplementalGroups").Index(i))
	}
	return errs
}

// resourceStatuses validates the health of the resources of a container (KEP-4680).
func resourceStatuses(c *corev1.ContainerStatus, containers byName, list *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i := range c.AllocatedResourcesStatus {
		s, path := &c.AllocatedResourcesStatus[i], list.Index(i)
		if spec := containers[c.Name]; spec != nil && !asksFor(spec, s.Name) {
			msg := "must match one of the container's resource requests"
			if strings.HasPrefix(string(s.Name), "claim:") {
				msg = "must match one of the container's resource claims in a format 'claim:<claimName>/<request>' or 'claim:<claimName>' if request is empty"
			}
			errs = append(errs, field.Invalid(path.Child("name"), s.Name, msg))
		}
		seen := sets.New[corev1.ResourceID]()
		for j := range s.Resources {
			r, path := &s.Resources[j], path.Child("resources").Index(j)
			errs = append(errs, health(r.Health, path.Child("health"))...)
			if seen.Has(r.ResourceID) {
				errs = append(errs, field.Duplicate(path.Child("resourceID"), r.ResourceID))
			}
			seen.Insert(r.ResourceID)
		}
	}
	return errs
}

func health(h corev1.ResourceHealthStatus, path *field.Path) field.ErrorList {
	known := sets.New(corev1.ResourceHealthStatusHealthy, corev1.ResourceHealthStatusUnhealthy,
		corev1.ResourceHealthStatusUnknown)
	if known.Has(h) {
		return nil
	}
	return field.ErrorList{field.NotSupported(path, h, sets.List(known))}
}

// byName are containers by their names, of several the first.
type byName map[string]*corev1.Container

func named(containers []corev1.Container) byName {
	all := byName{}
	for i := range containers {
		if c := &containers[i]; all[c.Name] == nil {
			all[c.Name] = c
		}
	}
	return all
}

// asksFor reports whether a container requests a resource, or devices of a claim,
// whose name is "claim:<name>" or "claim:<name>/<request>".
func asksFor(c *corev1.Container, name corev1.ResourceName) bool {
	if _, ok := c.Resources.Requests[name]; ok {
		return true
	}
	for _, claim := range c.Resources.Claims {
		full := "claim:" + claim.Name
		if claim.Request != "" {
			full += "/" + claim.Request
		}
		if string(name) == full {
			return true
		}
	}
	return false
}
