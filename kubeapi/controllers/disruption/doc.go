// Package disruption keeps the status of PodDisruptionBudgets: how many of their pods
// are healthy, have to be, and so may be evicted.
package disruption
