// Package user describes the authenticated user of a request. It also has the names of users and groups that
// Kubernetes reserves ("system:…"). An Info is immutable once it is passed on.
package user
