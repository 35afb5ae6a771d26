// Package lifecycle is the admission plugin NamespaceLifecycle: namespaced objects can only be created in
// namespaces that exist and are not terminating.
package lifecycle
