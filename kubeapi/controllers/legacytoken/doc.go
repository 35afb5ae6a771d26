// Package legacytoken removes Secrets with service account tokens that releases before 1.24 made
// automatically and that are no longer used: they are marked invalid first, and deleted if
// they stay unused (KEP-2799).
package legacytoken
