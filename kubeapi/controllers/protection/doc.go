// Package protection keeps PersistentVolumeClaims as long as pods use them, and
// PersistentVolumes as long as they are bound, by the finalizers
// kubernetes.io/pvc-protection and kubernetes.io/pv-protection.
package protection
