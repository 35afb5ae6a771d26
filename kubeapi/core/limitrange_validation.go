package core

import (
	"sort"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/resource"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/podspec"
)

func validateLimitRange(l *corev1.LimitRange) field.ErrorList {
	var errs field.ErrorList
	seen := map[corev1.LimitType]bool{}
	for i := range l.Spec.Limits {
		it, path := &l.Spec.Limits[i], field.NewPath("spec", "limits").Index(i)
		errs = append(errs, LimitType(string(it.Type), path.Child("type"))...)
		if seen[it.Type] {
			errs = append(errs, field.Duplicate(path.Child("type"), it.Type))
		}
		seen[it.Type] = true
		errs = append(errs, limitItem(it, path)...)
	}
	return errs
}

// limitItem validates the quantities of an item against each other.
func limitItem(it *corev1.LimitRangeItem, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	names := sets.New[string]()
	lists := []struct {
		name string
		list corev1.ResourceList
	}{{"max", it.Max}, {"min", it.Min}, {"default", it.Default}, {"defaultRequest", it.DefaultRequest},
		{"maxLimitRequestRatio", it.MaxLimitRequestRatio}}
	for _, l := range lists[:2] {
		errs = append(errs, limitNames(l.list, names, it.Type, path.Child(l.name))...)
	}
	if it.Type == corev1.LimitTypePod {
		for _, l := range lists[2:4] {
			if len(l.list) > 0 {
				errs = append(errs, field.Forbidden(path.Child(l.name), "may not be specified when `type` is 'Pod'"))
			}
		}
	} else {
		for _, l := range lists[2:4] {
			errs = append(errs, limitNames(l.list, names, it.Type, path.Child(l.name))...)
		}
	}
	if it.Type == corev1.LimitTypePersistentVolumeClaim {
		_, min := it.Min[corev1.ResourceStorage]
		_, max := it.Max[corev1.ResourceStorage]
		if !min && !max {
			errs = append(errs, field.Required(path.Child("limits"),
				"either minimum or maximum storage value is required, but neither was provided"))
		}
	}
	errs = append(errs, limitNames(it.MaxLimitRequestRatio, names, it.Type, path.Child("maxLimitRequestRatio"))...)
	for _, name := range sets.List(names) {
		errs = append(errs, limitValues(it, corev1.ResourceName(name), path)...)
	}
	return errs
}

func limitNames(l corev1.ResourceList, names sets.Set[string], t corev1.LimitType, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	keys := make([]string, 0, len(l))
	for k := range l {
		keys = append(keys, string(k))
	}
	sort.Strings(keys)
	for _, k := range keys {
		if t == corev1.LimitTypePod || t == corev1.LimitTypeContainer {
			errs = append(errs, podspec.ContainerResourceName(k, path.Key(k))...)
		} else {
			errs = append(errs, podspec.ResourceName(k, path.Key(k))...)
		}
		names.Insert(k)
	}
	return errs
}

func limitValues(it *corev1.LimitRangeItem, name corev1.ResourceName, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	min, hasMin := it.Min[name]
	max, hasMax := it.Max[name]
	def, hasDef := it.Default[name]
	req, hasReq := it.DefaultRequest[name]
	if it.Type == corev1.LimitTypePod { // may not have defaults at all
		hasDef, hasReq = false, false
	}
	ratio, hasRatio := it.MaxLimitRequestRatio[name]
	above := func(child string, a resource.Quantity, what string, b resource.Quantity, whatB string) {
		if a.Cmp(b) > 0 {
			errs = append(errs, field.Invalid(path.Child(child).Key(string(name)), a.String(), what+" value "+a.String()+
				" is greater than "+whatB+" value "+b.String()))
		}
	}
	if hasMin && hasMax {
		above("min", min, "min", max, "max")
	}
	if hasReq && hasMin {
		if min.Cmp(req) > 0 {
			errs = append(errs, field.Invalid(path.Child("defaultRequest").Key(string(name)), req.String(), "min value "+
				min.String()+" is greater than default request value "+req.String()))
		}
	}
	if hasReq && hasMax {
		above("defaultRequest", req, "default request", max, "max")
	}
	if hasReq && hasDef {
		above("defaultRequest", req, "default request", def, "default limit")
	}
	if hasDef && hasMin {
		if min.Cmp(def) > 0 {
			errs = append(errs, field.Invalid(path.Child("default").Key(string(name)), min.String(), "min value "+min.String()+
				" is greater than default value "+def.String()))
		}
	}
	if hasDef && hasMax {
		if def.Cmp(max) > 0 {
			errs = append(errs, field.Invalid(path.Child("default").Key(string(name)), max.String(), "default value "+
				def.String()+" is greater than max value "+max.String()))
		}
	}
	if hasRatio {
		errs = append(errs, limitRatio(it, name, ratio, path)...)
	}
	if name != corev1.ResourceCPU && name != corev1.ResourceMemory && name != corev1.ResourceEphemeralStorage &&
		!podspec.Overcommits(string(name)) && hasDef && hasReq && def.Cmp(req) != 0 {
		errs = append(errs, field.Invalid(path.Child("defaultRequest").Key(string(name)), req.String(), "default value "+
			def.String()+" must equal to defaultRequest value "+req.String()+" in "+string(name)))
	}
	return errs
}

func limitRatio(it *corev1.LimitRangeItem, name corev1.ResourceName, ratio resource.Quantity,
	path *field.Path) field.ErrorList {
	var errs field.ErrorList
	p := path.Child("maxLimitRequestRatio").Key(string(name))
	if ratio.Cmp(resource.MustParse("1")) < 0 {
		errs = append(errs, field.Invalid(p, ratio.String(), "ratio "+ratio.String()+" is less than 1"))
	}
	min, hasMin := it.Min[name]
	max, hasMax := it.Max[name]
	if hasMin && hasMax && !min.IsZero() {
		most := max.AsApproximateFloat64() / min.AsApproximateFloat64()
		if q := ratio.AsApproximateFloat64(); q > most {
			errs = append(errs, field.Invalid(p, ratio.String(), "ratio "+ratio.String()+" is greater than max/min = "+
				formatRatio(most)))
		}
	}
	return errs
}
