// Package admissionregistration declares the kinds of the group
// admissionregistration.k8s.io/v1: configurations of webhooks, and admission
// policies with their bindings.
//
// CEL expressions are compiled when they are written, in the environment in which
// generic/guard/admission evaluates them. The kinds are never sent to webhooks or policies
// themselves, so that a wrong one can always be removed.
package admissionregistration
