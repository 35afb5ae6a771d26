// Package policy declares the kind of the group policy/v1, PodDisruptionBudget.
// Eviction is a subresource of pods.
package policy
