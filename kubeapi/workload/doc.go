// Package workload is what the kinds share that make pods from a template:
// Deployment, ReplicaSet, StatefulSet, DaemonSet, Job, CronJob and
// ReplicationController. It prepares their writes, warns about their templates,
// validates selectors and status counts, and has the columns that their tables
// have in common. The rules of the pod spec itself are in kubeapi/podspec.
package workload
