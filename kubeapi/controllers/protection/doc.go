// Package protection delays the deletion of PersistentVolumeClaims while pods use them, and of PersistentVolumes
// while they are bound, with the finalizers kubernetes.io/pvc-protection and kubernetes.io/pv-protection.
package protection
