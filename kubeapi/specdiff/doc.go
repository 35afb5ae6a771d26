// Package specdiff shows a change that a kind refuses as a whole as a diff of its
// spec before and after. The diff is of kube-apiserver's own form of the spec:
// with the names that fields have in Go, and every field, so that clients and
// tests that compare the message see the same text. Messages that show one value
// show it in JSON as the API knows it instead.
package specdiff
