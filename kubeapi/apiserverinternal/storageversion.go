package apiserverinternal

import (
	"fmt"
	"slices"
	"strings"

	internalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
	"triplane.dev/kubeapi/check"
)

func storageVersionKind() kind.Kind[*internalv1alpha1.StorageVersion] {
	type version = *internalv1alpha1.StorageVersion
	return kind.Kind[version]{
		Write: kind.Write[version]{ValidateName: resourceName},
		Columns: show.Columns(
			show.FieldOr("CommonEncodingVersion", "status.commonEncodingVersion", show.Unset),
			show.Cell("StorageVersions", ".status.storageVersions", servers)),
		Status: &kind.Subresource[version]{Validate: kind.Whole(validateStatus), Resets: []string{"metadata"},
			Metadata: kind.ClientMetadata},
	}
}

// resourceName takes GROUP.RESOURCE, where the core group is "core".
func resourceName(name string, prefix bool) []string {
	group, _, ok := strings.Cut(name, ".")
	if !ok || group == "" {
		return []string{"name must be in the form of <group>.<resource>"}
	}
	return check.PathSegmentName(name, prefix)
}

// servers is what each server writes, shortened.
func servers(v *internalv1alpha1.StorageVersion) string {
	const shown = 3
	var texts []string
	for _, s := range v.Status.StorageVersions {
		texts = append(texts, s.APIServerID+"="+s.EncodingVersion)
	}
	if len(texts) == 0 {
		return show.Unset
	}
	if len(texts) > shown {
		texts = append(texts[:shown], "...")
	}
	return strings.Join(texts, ",")
}

func validateStatus(v *internalv1alpha1.StorageVersion) field.ErrorList {
	s := &v.Status
	var errs field.ErrorList
	path := field.NewPath("status")
	seen := map[string]bool{}
	common, same := "", len(s.StorageVersions) > 0
	for i := range s.StorageVersions {
		v, at := &s.StorageVersions[i], path.Child("storageVersions").Index(i)
		if seen[v.APIServerID] {
			errs = append(errs, field.Duplicate(at.Child("apiServerID"), v.APIServerID))
		}
		seen[v.APIServerID] = true
		errs = append(errs, validateServer(v, at)...)
		same = same && (i == 0 || v.EncodingVersion == common)
		common = v.EncodingVersion
	}
	at := path.Child("commonEncodingVersion")
	switch {
	case same && s.CommonEncodingVersion == nil:
		errs = append(errs, field.Invalid(at, nil, "the common encoding version is "+common))
	case same && *s.CommonEncodingVersion != common:
		errs = append(errs, field.Invalid(at, *s.CommonEncodingVersion, "the actual common encoding version is "+common))
	case !same && s.CommonEncodingVersion != nil:
		errs = append(errs, field.Invalid(at, *s.CommonEncodingVersion,
			"should be nil if servers do not agree on the same encoding version, or if there is no server reporting the supported versions yet"))
	}
	return append(errs, validateConditions(s.Conditions, path.Child("conditions"))...)
}

func validateServer(v *internalv1alpha1.ServerStorageVersion, path *field.Path) field.ErrorList {
	errs := check.Name(utilvalidation.IsDNS1123Subdomain(v.APIServerID), v.APIServerID, path.Child("apiServerID"))
	errs = append(errs, apiVersion(v.EncodingVersion, path.Child("encodingVersion"))...)
	for i, d := range v.DecodableVersions {
		errs = append(errs, apiVersion(d, path.Child("decodableVersions").Index(i))...)
	}
	for i, d := range v.ServedVersions {
		errs = append(errs, apiVersion(d, path.Child("servedVersions").Index(i))...)
		if !slices.Contains(v.DecodableVersions, d) {
			errs = append(errs, field.Invalid(path.Child("servedVersions").Index(i), d,
				fmt.Sprintf("individual served version : %s must be included in decodableVersions : %v", d,
					v.DecodableVersions)))
		}
	}
	if !slices.Contains(v.DecodableVersions, v.EncodingVersion) {
		errs = append(errs, field.Invalid(path.Child("decodableVersions"), v.DecodableVersions,
			"decodableVersions must include encodingVersion "+v.EncodingVersion))
	}
	return errs
}

func apiVersion(text string, path *field.Path) field.ErrorList {
	gv, err := schema.ParseGroupVersion(text)
	if err != nil || gv.Version == "" {
		return field.ErrorList{field.Invalid(path, text, "must be an apiVersion")}
	}
	if gv.Group != "" {
		if errs := check.Name(utilvalidation.IsDNS1123Subdomain(gv.Group), text, path); len(errs) > 0 {
			return errs
		}
	}
	return check.Name(utilvalidation.IsDNS1035Label(gv.Version), text, path)
}

func validateConditions(list []internalv1alpha1.StorageVersionCondition, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	seen := map[internalv1alpha1.StorageVersionConditionType]bool{}
	for i, c := range list {
		at := path.Index(i)
		if seen[c.Type] {
			errs = append(errs, field.Invalid(at.Child("type"), string(c.Type), "the type of the condition is not unique"))
		}
		seen[c.Type] = true
		for _, msg := range utilvalidation.IsQualifiedName(string(c.Type)) {
			errs = append(errs, field.Invalid(at.Child("type"), string(c.Type), msg))
		}
		errs = append(errs, check.OneOf(c.Status, at.Child("status"), internalv1alpha1.ConditionTrue,
			internalv1alpha1.ConditionFalse, internalv1alpha1.ConditionUnknown)...)
		if c.Reason == "" {
			errs = append(errs, field.Required(at.Child("reason"), "reason cannot be empty"))
		}
	}
	return errs
}
