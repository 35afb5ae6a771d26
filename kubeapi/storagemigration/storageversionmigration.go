package storagemigration

import (
	"context"
	"regexp"
	"strings"

	migrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/show"
)

var resourceVersion = regexp.MustCompile(`^[1-9][0-9]*$`)

func migrationKind() kind.Kind[*migrationv1.StorageVersionMigration] {
	type migration = *migrationv1.StorageVersionMigration
	return kind.Kind[migration]{
		Representation: kind.Typed[migration]{Versions: kind.SameFields[migration]("v1beta1")},
		Write: kind.Write[migration]{
			Validate:  kind.Whole(validateResource),
			Immutable: []string{"spec"},
		},
		Columns: []kind.Column{{Name: "Name", Field: "metadata.name"},
			show.Cell("Resource", "GroupResource to migrate", migrated),
			show.Cell("Status", "Status of the migration", state)},
		Status: &kind.Subresource[migration]{Metadata: kind.ClientMetadata, Validate: validateStatus},
	}
}

// state returns the first of the final conditions and Running that is true.
func migrated(m *migrationv1.StorageVersionMigration) string { return m.Spec.Resource.String() }

func state(m *migrationv1.StorageVersionMigration) string {
	for _, t := range []migrationv1.MigrationConditionType{
		migrationv1.MigrationSucceeded, migrationv1.MigrationFailed, migrationv1.MigrationRunning} {
		if meta.IsStatusConditionTrue(m.Status.Conditions, string(t)) {
			return string(t)
		}
	}
	return "Unknown"
}

func validateResource(m *migrationv1.StorageVersionMigration) field.ErrorList {
	r, path := m.Spec.Resource, field.NewPath("spec", "resource")
	var errs field.ErrorList
	if r.Resource == "" {
		errs = append(errs, field.Required(path.Child("resource"), "resource is required to be set"))
	} else if msgs := utilvalidation.IsDNS1035Label(r.Resource); len(msgs) > 0 {
		errs = append(errs, field.Invalid(path.Child("resource"), r.Resource, strings.Join(msgs, ",")))
	}
	if msgs := utilvalidation.IsDNS1123Subdomain(r.Group); r.Group != "" && len(msgs) > 0 {
		errs = append(errs, field.Invalid(path.Child("group"), r.Group, strings.Join(msgs, ",")))
	}
	return errs
}

// validateStatus keeps a migration that has ended as it is, and the version that it
// is for.
func validateStatus(_ context.Context, m, stored *migrationv1.StorageVersionMigration) field.ErrorList {
	s, old, path := &m.Status, &stored.Status, field.NewPath("status")
	errs := metavalidation.ValidateConditions(s.Conditions, path.Child("conditions"))
	if s.ResourceVersion != "" {
		if !resourceVersion.MatchString(s.ResourceVersion) {
			errs = append(errs, field.Invalid(path.Child("resourceVersion"), s.ResourceVersion,
				"resource version is not well formed: "+s.ResourceVersion))
		}
	}
	if old.ResourceVersion != "" && s.ResourceVersion != old.ResourceVersion {
		errs = append(errs, field.Invalid(path.Child("resourceVersion"), s.ResourceVersion, "field is immutable"))
	}
	succeeded, failed := string(migrationv1.MigrationSucceeded), string(migrationv1.MigrationFailed)
	for _, c := range []struct{ condition, name string }{{succeeded, "Success"}, {failed, "Failed"}} {
		if meta.IsStatusConditionTrue(old.Conditions, c.condition) && !meta.IsStatusConditionTrue(s.Conditions, c.condition) {
			errs = append(errs, field.Invalid(path.Child("conditions"), s.Conditions,
				c.name+" condition cannot be set to false once it is true"))
		}
	}
	if meta.IsStatusConditionTrue(s.Conditions, succeeded) && meta.IsStatusConditionTrue(s.Conditions, failed) {
		errs = append(errs, field.Invalid(path.Child("conditions"), s.Conditions,
			"Both success and failed conditions cannot be true at the same time"))
	}
	return errs
}
