// Package apps declares the kinds of the group apps/v1: Deployment, ReplicaSet,
// StatefulSet, DaemonSet and ControllerRevision. Each file holds one kind.
package apps
