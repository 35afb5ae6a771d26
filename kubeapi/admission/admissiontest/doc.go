// Package admissiontest has what admission plugins ask for, for their tests: Objects are resources, Allowed is an
// authorizer.
package admissiontest
