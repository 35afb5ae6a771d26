// Package imports has tests of the source code. They enforce the directions of imports,
//
//	cmd → the module's package → {aggregator, kubeapi, apiextensions} → generic → libraries
//	within generic: run → serve → api → guard → storage → base
//
// and that files are written by package durable, goroutines are started by package worker, and packages are
// documented. The three servers do not import each other, generic imports none of them, and no package imports the
// server parts of Kubernetes. Within kubeapi, the folders of API groups do not import each other.
package imports
