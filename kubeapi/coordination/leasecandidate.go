package coordination

import (
	"github.com/blang/semver/v4"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

func candidateKind() kind.Kind[*coordinationv1beta1.LeaseCandidate] {
	type candidate = *coordinationv1beta1.LeaseCandidate
	return kind.Kind[candidate]{
		Namespaced:     true,
		Representation: kind.Typed[candidate]{AnyFinalizer: true, Versions: kind.SameFields[candidate]("v1alpha2")},
		Write: kind.Write[candidate]{
			AllowCreateOnUpdate: true,
			ValidateName:        func(name string, _ bool) []string { return utilvalidation.IsConfigMapKey(name) },
			Validate:            kind.Whole(validateCandidate),
			Immutable:           []string{"spec.leaseName"},
		},
		Columns: show.Columns(show.Path("spec.leaseName"), show.Path("spec.binaryVersion"),
			show.Path("spec.emulationVersion")),
	}
}

func validateCandidate(c *coordinationv1beta1.LeaseCandidate) field.ErrorList {
	s := &c.Spec
	path := field.NewPath("spec")
	var errs field.ErrorList
	if s.LeaseName == "" {
		errs = append(errs, field.Required(path.Child("leaseName"), ""))
	}
	var emulated semver.Version
	switch {
	case s.EmulationVersion != "":
		v, wrong := parseVersion(s.EmulationVersion, path.Child("emulationVersion"))
		emulated, errs = v, append(errs, wrong...)
	case s.Strategy == coordinationv1.OldestEmulationVersion:
		errs = append(errs, field.Required(path.Child("emulationVersion"),
			"must be specified when `strategy` is 'OldestEmulationVersion'"))
	}
	binary, wrong := parseVersion(s.BinaryVersion, path.Child("binaryVersion"))
	errs = append(errs, wrong...)
	if emulated.GT(binary) {
		errs = append(errs, field.Invalid(path.Child("binaryVersion"), s.BinaryVersion,
			"must be greater than or equal to `emulationVersion`"))
	}
	if s.Strategy == "" {
		return append(errs, field.Required(path.Child("strategy"), ""))
	}
	return append(errs, validateStrategy(s.Strategy, path.Child("strategy"))...)
}

func parseVersion(text string, path *field.Path) (semver.Version, field.ErrorList) {
	if text == "" {
		return semver.Version{}, field.ErrorList{field.Required(path, "")}
	}
	v, err := semver.Parse(text)
	if err != nil {
		return v, field.ErrorList{field.Invalid(path, text, "must be a valid semantic version")}
	}
	return v, nil
}
