// Package core is the core API group, v1: a file a kind, with its rules and table
// in files beside it where it has many. Pods and Services have packages of their
// own, pod and service. The rules of pod specs, which pod templates of other groups
// share, are in kubeapi/podspec.
package core
