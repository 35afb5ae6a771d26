// Package customresource is what one CustomResourceDefinition defines. A Definition has the versions,
// each with a codec that prunes, coerces and converts, with defaults and validation from the
// structural schema (package schema), columns and subresources. It declares a kind.Kind over
// *unstructured.Unstructured, and NewStore stores the objects.
//
// A Definition is immutable. A version's schema is decoded for the first object, and its rules are
// compiled when there are values of them. Version.Resource is what serves the objects; the requests
// that it gets are no matter of this package.
package customresource
