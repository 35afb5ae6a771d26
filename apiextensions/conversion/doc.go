// Package conversion brings custom resources from one version to another, as
// the conversion strategy of their CRD says.
//
// None changes nothing but apiVersion. A Webhook posts ConversionReviews
// (apiextensions.k8s.io/v1 or v1beta1), bounded by the caller's context, and
// takes only answers that keep the objects' number, order and identity. A Memory asks a
// webhook once for what a write converts several times.
package conversion
