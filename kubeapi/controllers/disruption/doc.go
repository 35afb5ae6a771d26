// Package disruption maintains the status of PodDisruptionBudgets: how many of their pods are healthy, must be
// healthy, and so may be evicted.
package disruption
