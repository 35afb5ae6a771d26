// Package user describes the user of a request: what authenticators return and what
// authorizers decide by. It also has the names of users and groups that Kubernetes
// reserves ("system:…"). An Info is not changed after it has been made.
package user
