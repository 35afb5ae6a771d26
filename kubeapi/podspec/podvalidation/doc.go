// Package podvalidation validates pod specs and pod templates. Pods and every kind with a pod template (Deployment,
// Job, ReplicationController and so on) use it.
//
// A spec has its defaults (package podspec) before it is validated. Settings of the server are in podspec.Options. The
// errors have the wording and the order of kube-apiserver. Read Template and PodSpec first.
package podvalidation
