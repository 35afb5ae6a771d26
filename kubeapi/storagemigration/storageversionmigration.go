package storagemigration

import (
	"context"
	"strconv"

	migrationv1 "k8s.io/api/storagemigration/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	metavalidation "k8s.io/apimachinery/pkg/apis/meta/v1/validation"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/show"
)

func migrationKind() kind.Kind[*migrationv1.StorageVersionMigration] {
	type migration = *migrationv1.StorageVersionMigration
	gv := migrationv1.SchemeGroupVersion
	return kind.Kind[migration]{
		Hub: gv.WithKind("StorageVersionMigration"),
		Representation: kind.Typed[migration]{
			Versions: kind.SameFields[migration]("StorageVersionMigration", "storagemigration.k8s.io/v1beta1"),
		},
		Names: kind.Names{Plural: "storageversionmigrations"},
		Write: kind.Write[migration]{
			CountsGeneration: true,
			Validate:         func(_ context.Context, m migration) field.ErrorList { return validateResource(m.Spec.Resource) },
			ValidateUpdate: func(_ context.Context, m, old migration) field.ErrorList {
				return append(validateResource(m.Spec.Resource), check.Immutable(m.Spec, old.Spec, field.NewPath("spec"))...)
			},
		},
		Show: kind.Show[migration]{
			Columns: []kind.Column{show.Text("Name", show.Name().Description),
				show.Text("Resource", "GroupResource to migrate"), show.Text("Status", "Status of the migration")},
			Cells: func(m migration, _ func(metav1.Time) string) []any {
				r := m.Spec.Resource
				return []any{m.Name, r.String(), statusCell(&m.Status)}
			},
		},
		Status: &kind.StatusSubresource[migration]{
			ValidateUpdate: func(_ context.Context, m, old migration) field.ErrorList {
				return validateStatus(&m.Status, &old.Status)
			},
		},
	}
}

func validateResource(r metav1.GroupResource) field.ErrorList {
	path := field.NewPath("spec", "resource")
	var errs field.ErrorList
	if r.Resource == "" {
		errs = append(errs, field.Required(path.Child("resource"), "resource is required to be set"))
	} else {
		errs = check.Name(utilvalidation.IsDNS1035Label(r.Resource), r.Resource, path.Child("resource"))
	}
	if r.Group != "" {
		errs = append(errs, check.Name(utilvalidation.IsDNS1123Subdomain(r.Group), r.Group, path.Child("group"))...)
	}
	return errs
}

// validateStatus keeps a migration that has ended as it is, and the version that it
// is for.
// statusCell is the last condition that is true.
func statusCell(s *migrationv1.StorageVersionMigrationStatus) string {
	cell := "Unknown"
	for i := range s.Conditions {
		switch c := &s.Conditions[i]; migrationv1.MigrationConditionType(c.Type) {
		case migrationv1.MigrationRunning, migrationv1.MigrationSucceeded, migrationv1.MigrationFailed:
			if c.Status == metav1.ConditionTrue {
				cell = c.Type
			}
		}
	}
	return cell
}

func validateStatus(s, old *migrationv1.StorageVersionMigrationStatus) field.ErrorList {
	path := field.NewPath("status")
	errs := metavalidation.ValidateConditions(s.Conditions, path.Child("conditions"))
	if s.ResourceVersion != "" {
		if _, err := strconv.ParseUint(s.ResourceVersion, 10, 64); err != nil {
			errs = append(errs, field.Invalid(path.Child("resourceVersion"), s.ResourceVersion,
				"resource version must be a number"))
		}
	}
	if old.ResourceVersion != "" && s.ResourceVersion != old.ResourceVersion {
		errs = append(errs, field.Invalid(path.Child("resourceVersion"), s.ResourceVersion, "field is immutable"))
	}
	succeeded, failed := string(migrationv1.MigrationSucceeded), string(migrationv1.MigrationFailed)
	for _, t := range []string{succeeded, failed} {
		if meta.IsStatusConditionTrue(old.Conditions, t) && !meta.IsStatusConditionTrue(s.Conditions, t) {
			errs = append(errs, field.Invalid(path.Child("conditions"), t, "must not change once it is true"))
		}
	}
	if meta.IsStatusConditionTrue(s.Conditions, succeeded) && meta.IsStatusConditionTrue(s.Conditions, failed) {
		errs = append(errs, field.Invalid(path.Child("conditions"), "",
			"both success and failed conditions cannot be true at the same time"))
	}
	return errs
}
