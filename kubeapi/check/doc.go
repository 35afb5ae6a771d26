// Package check holds validation that several kinds share, beyond what
// k8s.io/apimachinery offers: rules on templates' metadata, selectors,
// int-or-percent values, conditions, and the bookkeeping of spec and status
// that most kinds do alike.
package check
