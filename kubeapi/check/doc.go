// Package check holds the rules for single values that several kinds share, beyond
// what k8s.io/apimachinery offers: names, numbers, int-or-percent values,
// enumerations, immutable fields, conditions, IP addresses.
//
// A rule returns field errors in kube-apiserver's wording, none where the value
// is valid. A message shows a value in JSON as the API knows it.
package check
