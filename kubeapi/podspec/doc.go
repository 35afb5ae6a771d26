// Package podspec holds the defaults, the rules and the warnings of pod specs. Pods
// and every kind with a pod template (Deployment, Job, ReplicationController…) use
// them.
//
// Default… completes what a client sent, in place. Validate… returns field errors
// in kube-apiserver's wording; what it validates has been completed before. What the
// server's flags decide is in Options.
package podspec
