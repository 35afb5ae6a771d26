// Package simulate makes workloads ready in tests without nodes (--simulate-workloads): Deployments, ReplicaSets and
// StatefulSets get pods that are Running and Ready, Jobs get pods that succeed. Nothing runs: no image is pulled, and
// addresses of pods are invented.
//
// The objects look as those of kube-controller-manager: owners, names and labels of pods, revisions, status fields and
// conditions. Each controller writes as its service account in kube-controller-manager, with that role. Pods stay
// without a node, therefore the server deletes them at once. NewPods plays the kubelet for pods of these controllers;
// the annotation PhaseAnnotation of a pod lets it stay Pending or fail.
//
// Not simulated: DaemonSets, whose pods need nodes, CronJobs, the adoption of orphans, and the resizing of volumes.
package simulate
