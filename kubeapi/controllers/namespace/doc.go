// Package namespace empties namespaces that are being deleted, and then removes their finalizer.
// Pods are deleted first; all else waits for them (KEP-5080).
//
// Of the resources that this process keeps, only those with stored objects in the namespace are
// touched, so that a thousand custom resources without objects cost a thousand counts of keys.
// Those of external servers are listed. Collections are deleted where the resource has the verb,
// otherwise objects one by one. The namespace's conditions report what remains, and why, with the
// types, reasons and texts of kube-controller-manager.
package namespace
