// Package serviceaccount gives each namespace its service account "default", which
// pods have that name no other.
package serviceaccount
