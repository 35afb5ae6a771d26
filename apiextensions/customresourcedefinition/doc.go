// Package customresourcedefinition is the kind CustomResourceDefinition: its declaration (Kind), and how
// CRDs are stored (Storage): as JSON in v1beta1, with schemas that are not decoded for what does not
// need them. DecodeOutline reads a CRD without its schemas.
//
// Writes of the status wait for the controller (Settled), and the controller writes the status for
// the server itself (StatusWriter).
package customresourcedefinition
