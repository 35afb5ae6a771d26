package group

import (
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// Written returns the managed fields of what a manager of this process writes without a client; fields is JSON.
func Written(manager, apiVersion, fields string) metav1.ManagedFieldsEntry {
	at := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	return metav1.ManagedFieldsEntry{Manager: manager, Operation: metav1.ManagedFieldsOperationUpdate,
		APIVersion: apiVersion, Time: &at, FieldsType: "FieldsV1", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)}}
}
