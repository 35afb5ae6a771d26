package audit

import (
	"strings"

	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	levels = []Level{LevelNone, LevelMetadata, LevelRequest, LevelRequestResponse}
	stages = []Stage{StageRequestReceived, StageResponseStarted, StageResponseComplete, StagePanic}
)

func (p *Policy) validate() field.ErrorList {
	errs := validateStages(p.OmitStages, field.NewPath("omitStages"))
	rules := field.NewPath("rules")
	for i := range p.Rules {
		errs = append(errs, p.Rules[i].validate(rules.Index(i))...)
	}
	return errs
}

func (r *PolicyRule) validate(path *field.Path) field.ErrorList {
	errs := validateLevel(r.Level, path.Child("level"))
	errs = append(errs, validateURLs(r.NonResourceURLs, path.Child("nonResourceURLs"))...)
	errs = append(errs, validateResources(r.Resources, path.Child("resources"))...)
	errs = append(errs, validateStages(r.OmitStages, path.Child("omitStages"))...)
	if len(r.NonResourceURLs) > 0 && (len(r.Resources) > 0 || len(r.Namespaces) > 0) {
		errs = append(errs, field.Invalid(path.Child("nonResourceURLs"), r.NonResourceURLs,
			"rules cannot apply to both regular resources and non-resource URLs"))
	}
	return errs
}

func validateLevel(l Level, path *field.Path) field.ErrorList {
	for _, known := range levels {
		if l == known {
			return nil
		}
	}
	if l == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	return field.ErrorList{field.NotSupported(path, l, levels)}
}

func validateStages(omitted []Stage, path *field.Path) field.ErrorList {
	var errs field.ErrorList
next:
	for i, s := range omitted {
		for _, known := range stages {
			if s == known {
				continue next
			}
		}
		errs = append(errs, field.Invalid(path.Index(i), string(s),
			"allowed stages are RequestReceived, ResponseStarted, ResponseComplete and Panic"))
	}
	return errs
}

func validateURLs(urls []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, u := range urls {
		if u == "*" {
			continue
		}
		if !strings.HasPrefix(u, "/") {
			errs = append(errs, field.Invalid(path.Index(i), u, "a non-resource URL must begin with '/'"))
		}
		if at := strings.IndexByte(u, '*'); at >= 0 && at < len(u)-1 {
			errs = append(errs, field.Invalid(path.Index(i), u,
				"the wildcard '*' must be the last character of a non-resource URL"))
		}
	}
	return errs
}

func validateResources(list []GroupResources, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, g := range list {
		at := path.Index(i)
		if g.Group != "" && g.Group != anyGroup {
			// The core group is "". A group never contains a version.
			for _, why := range utilvalidation.IsDNS1123Subdomain(g.Group) {
				errs = append(errs, field.Invalid(at.Child("group"), g.Group, why))
			}
		}
		if len(g.ResourceNames) > 0 && len(g.Resources) == 0 {
			errs = append(errs, field.Invalid(at.Child("resourceNames"), g.ResourceNames,
				"using resourceNames requires at least one resource"))
		}
	}
	return errs
}
