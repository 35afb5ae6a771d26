// Package namespace empties namespaces that are being deleted, and then removes their finalizer. It deletes pods
// first (KEP-5080).
//
// For resources that this process stores, it sends requests only if they have objects in the namespace, so that a
// thousand custom resources without objects cost a thousand counts of keys. Resources of external servers are
// listed. It deletes collections if the resource has the verb, otherwise single objects. The namespace's
// conditions report what remains, and why, with kube-controller-manager's types, reasons and messages.
package namespace
