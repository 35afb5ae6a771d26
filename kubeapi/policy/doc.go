// Package policy declares the kind of the group policy/v1, PodDisruptionBudget.
//
// A budget says how many pods must stay, or how many may be missing, never both. Its
// status is what evictions go by: they take from disruptionsAllowed. Eviction itself
// is a subresource of pods.
package policy
