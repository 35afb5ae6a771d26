// Package imports holds tests of the source: the directions of imports,
//
//	cmd → {aggregator, kubeapi, apiextensions, apiserver, console} → generic → libraries
//
// that files are written by package durable and goroutines started by package worker, and that
// packages are documented. The three servers do not import each other, generic imports none of them, and
// nobody imports the server parts of Kubernetes. Within kubeapi, the folders of API groups do not
// import each other.
package imports
