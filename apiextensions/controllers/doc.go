// Package controllers keeps the status of CustomResourceDefinitions: which of
// their names are accepted, whether they are established, approved and
// structural, and, when they are deleted, that their objects go first.
//
// One goroutine sees all changes of CRDs in their order and writes what follows
// from each at once, so that a CRD is served within the time of one write after
// its creation. Nothing polls.
package controllers
