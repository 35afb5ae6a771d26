package controllers

import (
	"context"
	"testing"
	"time"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// TestCleanUp deletes the objects of CRDs that have any of their own.
func TestCleanUp(t *testing.T) {
	for name, c := range map[string]struct {
		plural, group string
		established   apiextensionsv1.ConditionStatus
		reason        string
		deletes       bool
	}{
		"its own":           {"things", "example.com", apiextensionsv1.ConditionTrue, "InstanceDeletionCompleted", true},
		"never established": {"things", "example.com", apiextensionsv1.ConditionFalse, "NeverEstablished", false},
		"APIServices":       {"apiservices", "apiregistration.k8s.io", apiextensionsv1.ConditionTrue, "OverlappingBuiltInResource", false},
		"CRDs":              {"customresourcedefinitions", "apiextensions.k8s.io", apiextensionsv1.ConditionTrue, "OverlappingBuiltInResource", false},
	} {
		t.Run(name, func(t *testing.T) {
			crd := named(c.plural, "", "Thing", "ThingList")
			crd.Name, crd.Spec.Group = c.plural+"."+c.group, c.group
			crd.DeletionTimestamp = &metav1.Time{Time: time.Now()}
			crd.Finalizers = []string{apiextensionsv1.CustomResourceCleanupFinalizer}
			SetCondition(crd, apiextensionsv1.CustomResourceDefinitionCondition{Type: apiextensionsv1.Established, Status: c.established})
			deleted := false
			controller := New(Config{
				Write: func(_ context.Context, _ string, change func(definition) error) (definition, error) {
					return crd, change(crd)
				},
				DeleteInstances: func(context.Context, definition) error {
					deleted = true
					return nil
				},
			})
			if done, err := controller.tryCleanUp(t.Context(), crd.Name, crd.UID); !done || err != nil {
				t.Fatal(done, err)
			}
			got := Condition(crd, apiextensionsv1.Terminating)
			if got == nil || got.Status != apiextensionsv1.ConditionFalse || got.Reason != c.reason || deleted != c.deletes || len(crd.Finalizers) != 0 {
				t.Errorf("%+v, objects deleted: %v, finalizers %v", got, deleted, crd.Finalizers)
			}
		})
	}
}
