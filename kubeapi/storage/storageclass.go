package storage

import (
	"context"
	"encoding/json"
	"strings"

	corev1 "k8s.io/api/core/v1"
	storagev1 "k8s.io/api/storage/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/defaults"
	"triplane.dev/kubeapi/podspec/podwarnings"
)

func storageClassKind() kind.Kind[*storagev1.StorageClass] {
	type class = *storagev1.StorageClass
	return kind.Kind[class]{
		Representation: kind.Typed[class]{Former: kind.SameFields[class]("v1beta1")},
		Names:          kind.Names{ShortNames: []string{"sc"}},
		Write: kind.Write[class]{
			Default:                  defaultStorageClass,
			Validate:                 kind.Whole(validateStorageClass),
			Fixed:                    []string{"provisioner", "parameters", "reclaimPolicy", "volumeBindingMode"},
			AllowUnconditionalUpdate: kind.Always,
			Warnings: func(_ context.Context, c, _ class) []string {
				return podwarnings.Topologies(c.AllowedTopologies, field.NewPath("allowedTopologies"))
			},
		},
		Delete: kind.Delete[class]{ReturnsObject: true},
		Columns: []kind.Column{
			show.NameOrDefault("storageclass.kubernetes.io", "storageclass.beta.kubernetes.io"),
			show.Path("provisioner"), show.Path("reclaimPolicy"), show.Path("volumeBindingMode"),
			show.AsText(show.Path("allowVolumeExpansion")), show.Age(),
		},
	}
}

func validateStorageClass(c *storagev1.StorageClass) field.ErrorList {
	path := field.NewPath("provisioner")
	var errs field.ErrorList
	if c.Provisioner != "" {
		errs = append(errs, check.QualifiedName(strings.ToLower(c.Provisioner), path)...)
	}
	errs = append(errs, validateParameters(c.Parameters, false, field.NewPath("parameters"))...)
	if p := ptr.Deref(c.ReclaimPolicy, ""); p != "" {
		errs = append(errs, check.OneOf(p, field.NewPath("reclaimPolicy"), corev1.PersistentVolumeReclaimDelete,
			corev1.PersistentVolumeReclaimRetain)...)
	}
	if m := c.VolumeBindingMode; m == nil {
		errs = append(errs, field.Required(field.NewPath("volumeBindingMode"), ""))
	} else {
		errs = append(errs, check.OneOf(*m, field.NewPath("volumeBindingMode"), storagev1.VolumeBindingImmediate,
			storagev1.VolumeBindingWaitForFirstConsumer)...)
	}
	errs = append(errs, validateTopologies(c.AllowedTopologies, field.NewPath("allowedTopologies"))...)
	if c.Provisioner == "" {
		errs = append(errs, field.Required(path, ""))
	}
	return errs
}

func validateTopologies(terms []corev1.TopologySelectorTerm, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	// kube-apiserver begins with as many empty terms as there are terms, and reports a term
	// once for each that it equals.
	seen := map[string]int{"{}": len(terms)}
	for i := range terms {
		exprs := path.Index(i).Child("matchLabelExpressions")
		term, termErrs := validateTopologyTerm(terms[i].MatchLabelExpressions, exprs)
		errs = append(errs, termErrs...)
		identity, _ := json.Marshal(term) // sorted by keys; maps of maps can always be written
		for range seen[string(identity)] {
			errs = append(errs, field.Duplicate(exprs, ""))
			if len(errs) >= rest.MaxCauses { // no answer has more
				return errs
			}
		}
		seen[string(identity)]++
	}
	return errs
}

func validateTopologyTerm(exprs []corev1.TopologySelectorLabelRequirement,
	path *field.Path) (map[string]map[string]bool, field.ErrorList) {
	var errs field.ErrorList
	term := map[string]map[string]bool{}
	for i, e := range exprs {
		at := path.Index(i)
		values := map[string]bool{}
		if len(e.Values) == 0 {
			errs = append(errs, field.Required(at.Child("values"), ""))
		}
		for k, v := range e.Values {
			if values[v] {
				errs = append(errs, field.Duplicate(at.Child("values").Index(k), v))
			}
			values[v] = true
		}
		errs = append(errs, metavalidation.ValidateLabelName(e.Key, at.Child("key"))...)
		if _, ok := term[e.Key]; ok {
			errs = append(errs, field.Duplicate(at.Child("key"), e.Key))
		}
		term[e.Key] = values
	}
	return term, errs
}

func defaultStorageClass(c *storagev1.StorageClass) {
	defaults.Set(&c.ReclaimPolicy, corev1.PersistentVolumeReclaimDelete)
	defaults.Set(&c.VolumeBindingMode, storagev1.VolumeBindingImmediate)
}
