// Package kind declares resources: a Kind states in one place how a resource is named, what a write may change and must
// satisfy, what deletion means, and how objects are shown, selected and encoded. Read Kind first.
//
// A group declares a Kind for each resource; package registry makes a Store of it, which serves the verbs. What holds
// for every kind is not declared: system metadata, preconditions, finalizers, retries.
//
// # Parts of an object
//
// Fields that an endpoint does not write are named, not copied by functions: Write.Status and Write.Preserves for the
// main resource, Subresource.Preserves and Metadata for a subresource. So are those that no update changes
// (Write.Immutable), that tables show (Column.Field) and that selectors name. They are found in the Go type once, by
// Complete, which fails for a field that does not exist. The same names are the reset fields of managed fields.
//
// # Names
//
// A declaration does not repeat what its Go type and the scheme say: the kind of the hub, the plural, singular and list
// of the resource, the group and kind of other versions, the documentation of columns.
//
// # Representations
//
// A Representation decides how objects are encoded in storage and in responses. Typed represents Go structs, in all
// versions of the kind, which convert to and from the hub version; Unstructured represents trees of JSON values. Open
// makes the Form of a kind with the options of a server: it reads labels and selectable fields from stored bytes, and
// converts stored bytes to the bytes of a response, without decoded objects where the bytes have all that a reader
// would see. Such bytes lack no field that defaulting would set (storage/wire/required).
package kind
