// Package protection keeps PersistentVolumeClaims that pods use, and
// PersistentVolumes that are bound, until they are not: through the finalizers
// kubernetes.io/pvc-protection and kubernetes.io/pv-protection.
package protection
