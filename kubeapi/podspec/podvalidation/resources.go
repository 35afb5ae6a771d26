package podvalidation

import (
	"fmt"
	"maps"
	"sort"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/internal/quantity"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
)

func (v *checker) containerResources(r *corev1.ResourceRequirements, path *field.Path) {
	v.resources(r, path, podspec.ContainerResourceName)
}

// Overhead validates what a runtime takes beside the containers, as limits are.
func Overhead(list corev1.ResourceList, path *field.Path) field.ErrorList {
	v := &checker{}
	v.containerResources(&corev1.ResourceRequirements{Limits: list}, path)
	return v.Errors
}

// resources validates requests and limits, whose names are those that name
// accepts.
func (v *checker) resources(r *corev1.ResourceRequirements, path *field.Path,
	name func(string, *field.Path) field.ErrorList) {
	cpuOrMemory, huge := false, false
	limits, requests := path.Child("limits"), path.Child("requests")
	note := func(name corev1.ResourceName) {
		cpuOrMemory = cpuOrMemory || name == corev1.ResourceCPU || name == corev1.ResourceMemory
		huge = huge || podspec.IsHugePages(string(name))
	}
	for _, n := range sortedResources(r.Limits) {
		p := limits.Key(string(n))
		v.Add(name(string(n), p)...)
		v.amount(n, r.Limits[n], p)
		note(n)
	}
	for _, n := range sortedResources(r.Requests) {
		p := requests.Key(string(n))
		v.Add(name(string(n), p)...)
		v.amount(n, r.Requests[n], p)
		v.requestWithinLimit(n, r.Requests[n], r.Limits, limits, requests)
		note(n)
	}
	if huge && !cpuOrMemory {
		v.Add(field.Forbidden(path, "HugePages require cpu or memory"))
	}
	v.resourceClaimNames(r.Claims, path.Child("claims"))
}

func (v *checker) amount(name corev1.ResourceName, q resource.Quantity, path *field.Path) {
	v.Add(podspec.Quantity(string(name), &q, path)...)
	if podspec.IsHugePages(string(name)) && !multipleOfPage(string(name), q) {
		v.Add(field.Invalid(path, q.String(), fmt.Sprintf("%s is not positive integer multiple of %s", q.String(), name)))
	}
}

func multipleOfPage(name string, q resource.Quantity) bool {
	page, err := quantity.Parse(strings.TrimPrefix(name, corev1.ResourceHugePagesPrefix))
	if err != nil || page.Sign() <= 0 {
		return false
	}
	return q.Value()%page.Value() == 0
}

func (v *checker) requestWithinLimit(name corev1.ResourceName, q resource.Quantity, limits corev1.ResourceList,
	limitPath, path *field.Path) {
	limit, ok := limits[name]
	switch over := podspec.Overcommits(string(name)); {
	case !ok && !over:
		v.Add(field.Required(limitPath, "Limit must be set for non overcommitable resources"))
	case ok && !over && q.Cmp(limit) != 0:
		v.Add(field.Invalid(path, q.String(), fmt.Sprintf("must be equal to %s limit of %s", name, limit.String())))
	case ok && over && q.Cmp(limit) > 0:
		v.Add(field.Invalid(path, q.String(), fmt.Sprintf("must be less than or equal to %s limit of %s", name,
			limit.String())))
	}
}

// resourceClaimNames validates which of the pod's claims a container uses: all of
// one, or what one of its requests got, each once.
func (v *checker) resourceClaimNames(claims []corev1.ResourceClaim, list *field.Path) {
	used, partly := sets.New[string](), sets.New[string]()
	for i := range claims {
		name, request, p := claims[i].Name, claims[i].Request, list.Index(i)
		if name == "" {
			v.Add(field.Required(p, ""))
			continue
		}
		switch key := name + "/" + request; {
		case used.Has(name):
			v.Add(field.Duplicate(p, name))
		case request == "":
			if partly.Has(name) {
				v.Add(field.Duplicate(p, name))
			}
			used.Insert(name)
		default:
			v.Label(request, p.Child("request"))
			if used.Has(key) {
				v.Add(field.Duplicate(p, key))
			}
			used.Insert(key)
			partly.Insert(name)
		}
		v.knownClaim(name, p)
	}
}

func (v *checker) knownClaim(name string, path *field.Path) {
	if v.claims.Has(name) {
		return
	}
	e := field.NotFound(path, name)
	e.Detail = "must be one of the names in pod.spec.resourceClaims"
	if v.claims.Len() == 0 {
		e.Detail += " which is empty"
	} else {
		e.Detail += ": " + strings.Join(sets.List(v.claims), ", ")
	}
	v.Add(e)
}

func (v *checker) resizePolicy(policies []corev1.ContainerResizePolicy, path *field.Path) {
	seen := sets.New[corev1.ResourceName]()
	for i := range policies {
		p := &policies[i]
		if seen.Has(p.ResourceName) {
			v.Add(field.Duplicate(path.Index(i), p.ResourceName))
		}
		seen.Insert(p.ResourceName)
		v.Add(check.RequiredOneOf(p.ResourceName, path, corev1.ResourceCPU, corev1.ResourceMemory)...)
		v.Add(check.RequiredOneOf(p.RestartPolicy, path, corev1.NotRequired, corev1.RestartContainer)...)
		if v.spec.RestartPolicy == corev1.RestartPolicyNever && p.RestartPolicy != corev1.NotRequired {
			v.Add(field.Invalid(path, p.RestartPolicy, "must be 'NotRequired' when pod `restartPolicy` is 'Never'"))
		}
	}
}

// claimList validates the pod's resource claims; containers name them later.
func (v *checker) claimList(list *field.Path) {
	if v.mirror && len(v.spec.ResourceClaims) > 0 {
		for i := range v.spec.ResourceClaims {
			v.claims.Insert(v.spec.ResourceClaims[i].Name)
		}
		// kube-apiserver names no field here.
		v.Add(field.Forbidden(field.NewPath(""), "static pods do not support resource claims"))
		return
	}
	for i := range v.spec.ResourceClaims {
		c, p := &v.spec.ResourceClaims[i], list.Index(i)
		switch {
		case c.Name == "":
			v.Add(field.Required(p.Child("name"), ""))
		case v.claims.Has(c.Name):
			v.Add(field.Duplicate(p.Child("name"), c.Name))
		default:
			v.Label(c.Name, p.Child("name"))
			v.claims.Insert(c.Name)
		}
		shown := claimNames{c.Name, c.ResourceClaimName, c.ResourceClaimTemplateName}
		if c.ResourceClaimName != nil && c.ResourceClaimTemplateName != nil {
			v.Add(field.Invalid(p, shown, "at most one of `resourceClaimName` or `resourceClaimTemplateName` may be specified"))
		}
		if c.ResourceClaimName == nil && c.ResourceClaimTemplateName == nil {
			v.Add(field.Invalid(p, shown, "must specify one of: `resourceClaimName`, `resourceClaimTemplateName`"))
		}
		if n := c.ResourceClaimName; n != nil {
			v.Messages(utilvalidation.IsDNS1123Subdomain(*n), *n, p.Child("resourceClaimName"))
		}
		if n := c.ResourceClaimTemplateName; n != nil {
			v.Messages(utilvalidation.IsDNS1123Subdomain(*n), *n, p.Child("resourceClaimTemplateName"))
		}
	}
}

// claimNames is a resource claim as messages show it, with the names of fields.
type claimNames struct {
	Name                      string
	ResourceClaimName         *string
	ResourceClaimTemplateName *string
}

// podResources validates what the pod asks for as a whole.
func (v *checker) podResources(path *field.Path) {
	r := v.spec.Resources
	if r == nil {
		return
	}
	if os := v.spec.OS; os != nil && os.Name == corev1.Windows {
		v.Add(field.Forbidden(path, "may not be set for a windows pod"))
		return
	}
	if r.Claims != nil {
		v.Add(field.Forbidden(path.Child("claims"), "claims may not be set for Resources at pod-level"))
	}
	v.resources(r, path, podResourceName)
	v.podAboveContainers(r, path)
}

// podResourceName validates the name of a resource that a pod asks for as a whole.
func podResourceName(name string, path *field.Path) field.ErrorList {
	errs := podspec.ResourceName(name, path)
	if len(errs) == 0 && !podspec.PodLevelResource(corev1.ResourceName(name)) {
		errs = append(errs, field.NotSupported(path, name, []string{"cpu", "hugepages-", "memory"}))
	}
	return errs
}

// covers refuses amounts of a pod that are less than those of its containers together.
func (v *checker) covers(pod, containers corev1.ResourceList, kind string, path *field.Path) {
	for _, name := range sortedResources(containers) {
		have, ok := pod[name]
		if need := containers[name]; ok && need.Cmp(have) > 0 {
			v.Add(field.Invalid(path.Child(kind).Key(string(name)), have.String(),
				fmt.Sprintf("must be greater than or equal to aggregate container %s of %s", kind, need.String())))
		}
	}
}

func (v *checker) podAboveContainers(r *corev1.ResourceRequirements, path *field.Path) {
	requests := podspec.Sum(v.spec, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Requests })
	v.covers(r.Requests, requests, "requests", path)
	// Limits of what can be shared may be more together than what there is.
	limits := podspec.Sum(v.spec, func(c *corev1.Container) corev1.ResourceList { return c.Resources.Limits })
	maps.DeleteFunc(limits, func(name corev1.ResourceName, _ resource.Quantity) bool { return !podspec.HugePages(name) })
	v.covers(r.Limits, limits, "limits", path)
	for i := range v.spec.Containers {
		limits := v.spec.Containers[i].Resources.Limits
		for _, name := range sortedResources(limits) {
			most, ok := r.Limits[name]
			if q := limits[name]; ok && q.Cmp(most) > 0 {
				v.Add(field.Invalid(path.Child("containers").Index(i).Key(string(name)).Child("limits"), q.String(),
					fmt.Sprintf("must be less than or equal to pod limits of %s", most.String())))
			}
		}
	}
}

func sortedResources(l corev1.ResourceList) []corev1.ResourceName {
	names := make([]corev1.ResourceName, 0, len(l))
	for k := range l {
		names = append(names, k)
	}
	sort.Slice(names, func(i, j int) bool { return names[i] < names[j] })
	return names
}
