// Package volume validates volumes: those of pods (PodVolumes), persistent volumes, and the specs of claims.
//
// The errors have the wording and the order of kube-apiserver.
package volume
