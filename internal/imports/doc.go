// Package imports holds tests of the source: the directions of imports,
//
//	cmd → the module's package → {aggregator, kubeapi, apiextensions} → generic → libraries
//	within generic: run → serve → api → guard → storage → base
//
// that files are written by package durable and goroutines started by package worker, and that
// packages are documented. The three servers do not import each other, generic imports none of them, and
// nobody imports the server parts of Kubernetes. Within kubeapi, the folders of API groups do not
// import each other.
package imports
