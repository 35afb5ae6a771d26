package controllers

import (
	"errors"
	"fmt"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	utilerrors "k8s.io/apimachinery/pkg/util/errors"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/apiextensions/validation"
)

func versionPath(i int) *field.Path {
	return field.NewPath("spec", "versions").Index(i).Child("schema", "openAPIV3Schema")
}

// free returns an error if another CRD holds the name.
func free(requested, accepted string, used counts) error {
	if requested == accepted || !used.Has(requested) {
		return nil
	}
	return fmt.Errorf("%q is already in use", requested)
}

// setNames accepts the names of a CRD that no other CRD of its group holds, and sets the conditions.
func setNames(crd definition, c claimed) {
	want, have := &crd.Spec.Names, crd.Status.AcceptedNames
	got := have
	accepted := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.NamesAccepted, Status: apiextensionsv1.ConditionTrue,
		Reason: "NoConflicts", Message: "no conflicts found",
	}
	refuse := func(reason string, err error) {
		accepted.Status, accepted.Reason, accepted.Message = apiextensionsv1.ConditionFalse, reason, err.Error()
	}
	take := func(want, have string, to *string, used counts, reason string) {
		if err := free(want, have, used); err != nil {
			refuse(reason, err)
			return
		}
		*to = want
	}
	take(want.Plural, have.Plural, &got.Plural, c.resources, "PluralConflict")
	take(want.Singular, have.Singular, &got.Singular, c.resources, "SingularConflict")
	if err := freeShortNames(want.ShortNames, have.ShortNames, c.resources); err != nil {
		refuse("ShortNamesConflict", err)
	} else {
		got.ShortNames = want.ShortNames
	}
	take(want.Kind, have.Kind, &got.Kind, c.kinds, "KindConflict")
	take(want.ListKind, have.ListKind, &got.ListKind, c.kinds, "ListKindConflict")
	got.Categories = want.Categories
	crd.Status.AcceptedNames = got
	SetCondition(crd, accepted)
	establish(crd, accepted.Status == apiextensionsv1.ConditionTrue)
}

func freeShortNames(want, have []string, used counts) error {
	if slices.Equal(want, have) {
		return nil
	}
	var errs []error
	for _, name := range want {
		if !slices.Contains(have, name) {
			if err := free(name, "", used); err != nil {
				errs = append(errs, err)
			}
		}
	}
	if len(errs) == 1 {
		return errors.New(errs[0].Error())
	}
	return utilerrors.NewAggregate(errs)
}

// invalidCABundle is the reason of CRDs that are not published because their objects cannot be converted.
const invalidCABundle = "InvalidCABundle"

// establish marks a CRD as published once all its names were accepted, and its
// conversion webhook can be trusted. It stays so whatever it asks for later.
func establish(crd definition, accepted bool) {
	if c := Condition(crd, apiextensionsv1.Established); c != nil && c.Status == apiextensionsv1.ConditionTrue {
		return
	}
	c := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.Established, Status: apiextensionsv1.ConditionFalse,
		Reason: "NotAccepted", Message: "not all names are accepted",
	}
	switch {
	case accepted && validation.ValidateCABundle(crd) != nil:
		c.Reason, c.Message = invalidCABundle, "The conversion webhook CABundle is invalid"
	case accepted:
		c.Status, c.Reason, c.Message = apiextensionsv1.ConditionTrue, "InitialNamesAccepted",
			"the initial names have been accepted"
	}
	SetCondition(crd, c)
}
