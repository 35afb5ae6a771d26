// Package serviceaccount creates the service account "default" of each namespace, which pods without a service
// account use.
package serviceaccount
