// Package legacytoken removes Secrets with tokens that were made for service
// accounts automatically, by releases before 1.24, and that nobody has used for
// long: they are marked invalid first, and deleted when they stay unused (KEP-2799).
package legacytoken
