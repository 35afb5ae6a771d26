// Package managedfields keeps metadata.managedFields: who owns which field of an
// object.
//
// The rules are those of k8s.io/apimachinery/pkg/util/managedfields, and what
// this package has no rule for, it leaves to that library. But the library works on
// objects as trees of interface values, which it validates, converts and compares
// as a whole for each write; that was the larger part of what a write cost. A
// Manager does the frequent case by itself, which is an update of an object in
// the version that all its owners have used:
//
//   - it walks old and new object at once, by a plan that is made once for each
//     Go type (typed.go) or by the schema of a custom resource (untyped.go), and
//     notes only what differs;
//   - it decodes an owner's set of fields once for all objects that have the
//     same one (entries.go), since objects of one kind have few shapes;
//   - it encodes only the sets that have changed;
//   - it writes the set of a new object, which has one owner, without building
//     it (fieldsv1.go).
//
// Wherever one of them meets what it has no rule for – another version, a value
// that does not fit the schema, a set that is not in its usual form – the walk
// gives up before anything was changed and the library does all of it. The tests
// hold both against each other on random objects.
package managedfields
