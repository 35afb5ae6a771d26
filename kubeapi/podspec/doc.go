// Package podspec holds the defaults and the rules of pod specs. Pods and every
// kind with a pod template (Deployment, Job, ReplicationController…) use them.
//
// Default…  completes what a client sent, in place. Validate… judges it and
// returns field errors in kube-apiserver's wording; what it judges has been
// completed by Default before.
package podspec
