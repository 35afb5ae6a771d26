// Package apps declares the kinds of the group apps/v1: Deployment, ReplicaSet,
// StatefulSet, DaemonSet and ControllerRevision, a file each.
//
// They keep a number of pods of one template running. The server completes and
// validates the template as it does a pod, raises metadata.generation with each
// change of the specification, and keeps what identifies a controller's pods (the
// selector, and nearly all of a StatefulSet) unchanged. The work itself is done by
// controllers, which report in the status subresource; Deployments, ReplicaSets and
// StatefulSets are scaled through the subresource "scale".
//
// Special is the annotation deprecated.daemonset.template.generation, the remains of
// a field: it counts the changes of a DaemonSet's template, and a value that is no
// number makes the object unreadable rather than invalid.
package apps
