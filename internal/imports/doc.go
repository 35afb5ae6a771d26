// Package imports holds the test that keeps the rooms of the project apart:
//
//	cmd → {aggregator, kubeapi, apiextensions, apiserver, console} → generic → libraries
//
// The three servers know nothing of each other, generic knows none of them, and
// nobody takes the server parts of Kubernetes. Within kubeapi, the folders of API
// groups do not import each other.
package imports
