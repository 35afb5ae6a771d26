package storagemigration

import (
	"context"
	"encoding/json"
	"slices"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
)

// definition returns the CustomResourceDefinition of the migrated resource; nil if it has none.
func (c *controller) definition(ctx context.Context, m *migration) (*apiextensionsv1.CustomResourceDefinition, error) {
	r := &m.Spec.Resource
	if r.Group == "" {
		return nil, nil
	}
	crd, err := c.definitions.Get(ctx, r.Resource+"."+r.Group, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return crd, err
}

// announce sets the condition StorageMigrating of the definition.
func (c *controller) announce(ctx context.Context, m *migration) error {
	crd, err := c.definition(ctx, m)
	if err != nil || crd == nil {
		return err
	}
	setMigrating(crd, apiextensionsv1.ConditionTrue, running, runs(m))
	return c.patchStatus(ctx, crd)
}

// settleDefinition resets the condition StorageMigrating. If all objects were written and the definition has not
// changed since the start, it sets storedVersions to the storage version.
func (c *controller) settleDefinition(ctx context.Context, m *migration, written bool) error {
	crd, err := c.definition(ctx, m)
	if err != nil || crd == nil {
		return err
	}
	i := slices.IndexFunc(crd.Status.Conditions, func(c apiextensionsv1.CustomResourceDefinitionCondition) bool {
		return c.Type == apiextensionsv1.StorageMigrating
	})
	if i < 0 || crd.Status.Conditions[i].Message != runs(m) ||
		crd.Status.Conditions[i].Status != apiextensionsv1.ConditionTrue {
		return nil // another migration has started since
	}
	reason, message := "MigrationFailed",
		"The definition has changed, or objects could not be written: there may be objects of other versions"
	if written && crd.Status.Conditions[i].ObservedGeneration == crd.Generation {
		reason, message = "MigrationSucceeded", "All objects are stored in the storage version"
		for j := range crd.Spec.Versions {
			if v := &crd.Spec.Versions[j]; v.Storage {
				crd.Status.StoredVersions = []string{v.Name}
			}
		}
	}
	setMigrating(crd, apiextensionsv1.ConditionFalse, reason, message)
	return c.patchStatus(ctx, crd)
}

// patchStatus writes the conditions and the stored versions of a definition, unless it has changed since it was read.
func (c *controller) patchStatus(ctx context.Context, crd *apiextensionsv1.CustomResourceDefinition) error {
	body, err := json.Marshal(map[string]any{
		"metadata": map[string]any{"resourceVersion": crd.ResourceVersion},
		"status":   map[string]any{"conditions": crd.Status.Conditions, "storedVersions": crd.Status.StoredVersions},
	})
	if err != nil {
		return err
	}
	_, err = c.definitions.Patch(ctx, crd.Name, types.MergePatchType, body, metav1.PatchOptions{}, "status")
	return err
}

// runs returns the message of the condition during a migration. It is kube-controller-manager's, so that either
// controller can complete a migration of the other.
func runs(m *migration) string { return "Migration " + m.Name + " is running" }

func setMigrating(
	crd *apiextensionsv1.CustomResourceDefinition, status apiextensionsv1.ConditionStatus, reason, message string,
) {
	next := apiextensionsv1.CustomResourceDefinitionCondition{
		Type: apiextensionsv1.StorageMigrating, Status: status, Reason: reason, Message: message,
		LastTransitionTime: metav1.Now(), ObservedGeneration: crd.Generation,
	}
	for i := range crd.Status.Conditions {
		if crd.Status.Conditions[i].Type == next.Type {
			crd.Status.Conditions[i] = next
			return
		}
	}
	crd.Status.Conditions = append(crd.Status.Conditions, next)
}
