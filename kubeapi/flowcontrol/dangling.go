package flowcontrol

import (
	"context"
	"fmt"

	flowv1 "k8s.io/api/flowcontrol/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/request"
	"triplane.dev/generic/base/user"
)

// consumerManager is whose the condition is, by a server-side apply of it alone.
const consumerManager = "api-priority-and-fairness-config-consumer-v1"

const consumerFields = `{"f:status":{"f:conditions":{"k:{\"type\":\"Dangling\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:reason":{},"f:status":{},"f:type":{}}}}}`

// dangling is the condition of a flow schema that names a level.
func dangling(level string, exists bool) flowv1.FlowSchemaCondition {
	reference := fmt.Sprintf("This FlowSchema references the PriorityLevelConfiguration object named %q ", level)
	if exists {
		return flowv1.FlowSchemaCondition{Type: flowv1.FlowSchemaConditionDangling, Status: flowv1.ConditionFalse,
			Reason: "Found", Message: reference + "and it exists"}
	}
	return flowv1.FlowSchemaCondition{Type: flowv1.FlowSchemaConditionDangling, Status: flowv1.ConditionTrue,
		Reason: "NotFound", Message: reference + "but there is no such object"}
}

// sameCondition reports whether the conditions are the wanted ones already.
func sameCondition(have []flowv1.FlowSchemaCondition, want flowv1.FlowSchemaCondition) bool {
	for _, c := range have {
		if c.Type == want.Type {
			return c.Status == want.Status && c.Reason == want.Reason && c.Message == want.Message
		}
	}
	return false
}

// write puts a condition into a schema; one that is gone needs none.
func (c *Consumer) write(ctx context.Context, name string, want flowv1.FlowSchemaCondition) error {
	at := metav1.NewTime(c.now())
	ctx = request.WithUser(ctx, &user.Info{Name: user.APIServerUser, Groups: []string{user.SystemPrivileged}})
	_, err := c.schemas.Modify(ctx, name, c.schemas.Kind().Status, false, func(f *flowv1.FlowSchema) error {
		setCondition(f, want, at)
		return nil
	})
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// setCondition writes the condition and that it is the consumer's.
func setCondition(f *flowv1.FlowSchema, want flowv1.FlowSchemaCondition, at metav1.Time) {
	want.LastTransitionTime = at
	found := false
	for i := range f.Status.Conditions {
		c := &f.Status.Conditions[i]
		if c.Type != want.Type {
			continue
		}
		if c.Status == want.Status {
			want.LastTransitionTime = c.LastTransitionTime
		}
		*c, found = want, true
	}
	if !found {
		f.Status.Conditions = append(f.Status.Conditions, want)
	}
	entry := metav1.ManagedFieldsEntry{
		Manager: consumerManager, Operation: metav1.ManagedFieldsOperationApply, APIVersion: v1.String(), Time: &at,
		FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(consumerFields)}, Subresource: "status",
	}
	fields := []metav1.ManagedFieldsEntry{entry} // applies come first
	for _, e := range f.ManagedFields {
		if e.Manager != entry.Manager || e.Operation != entry.Operation || e.Subresource != entry.Subresource {
			fields = append(fields, e)
		}
	}
	f.ManagedFields = fields
}
