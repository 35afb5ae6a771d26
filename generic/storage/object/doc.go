// Package object is how the server looks at API objects whose Go type it does
// not know: a View has two implementations, one for objects that are Go structs
// (the built-in kinds) and one for objects that are trees of JSON values
// (custom resources, *unstructured.Unstructured).
//
// Code that has to treat the two in different ways asks ViewOf, or Typed, rather
// than for the Go type: what distinguishes them stands here. The difference is
// one of cost as a rule. Metadata of a struct is a field; that of a tree is
// converted at each access, managed fields above all, which takes longer than
// the rest of an update. So the View of trees looks at the tree itself.
//
// Views have no state and are safe for concurrent use. They take objects of
// their own sort only: what ViewOf returns for an object holds for all objects
// of its kind.
package object
