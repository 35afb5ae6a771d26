// Package podspec has the defaults of pod specs, the quality of service and resources that follow from them, and the
// settings of the server (Options) that their validation depends on. Pods and every kind with a pod template
// (Deployment, Job, ReplicationController and so on) use it.
//
// Functions named Default complete a spec in place, before package podvalidation validates it. Package volume validates
// volumes, package downwardapi references to the pod's fields, and package podwarnings has warnings.
package podspec
