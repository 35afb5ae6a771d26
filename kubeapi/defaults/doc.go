// Package defaults fills in what a client left out of an object.
package defaults
