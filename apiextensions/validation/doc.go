// Package validation validates CustomResourceDefinitions: names, versions,
// schemas, conversion, columns, subresources and selectable fields, with
// kube-apiserver's field paths and messages.
//
// What all versions share in the same words (schema, columns, subresources,
// selectable fields) is reported where CRDs once held it, as "spec.validation"
// and so on, because that is what users of the API know.
package validation
