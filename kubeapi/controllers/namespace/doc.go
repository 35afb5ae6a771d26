// Package namespace empties namespaces that are being deleted, and lets them go. While
// there are pods nothing else is deleted.
//
// Of the resources that this process keeps only those are touched of which storage
// holds objects in the namespace, so that a thousand custom resources without
// objects cost a thousand counts of keys. Those of external servers are listed.
// Collections are deleted where the resource has the verb, objects one by one
// elsewhere. What remains, and why, is in the namespace's conditions, whose types,
// reasons and texts are those that kube-controller-manager writes.
package namespace
