// Package object treats API objects of unknown Go types uniformly. A View has two implementations: one for Go
// structs (built-in kinds) and one for trees of JSON values (custom resources, *unstructured.Unstructured).
//
// Code that must distinguish the two calls ViewOf or Typed instead of inspecting the Go type. Most differences
// are about cost: the metadata of a struct is a field, while that of a tree is converted on each access. The
// conversion of managed fields takes longer than the rest of an update, so that the View of trees accesses the
// tree directly.
//
// Views have no state and are safe for concurrent use. A View only accepts objects of its type. The View of one
// object is valid for all objects of its kind. Empties are the values that storage as protobuf does not keep.
package object
