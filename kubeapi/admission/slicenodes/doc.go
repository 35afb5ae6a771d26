// Package slicenodes finds the nodes of a ResourceSlice that do not support what its devices provide, for the admission
// plugin NodeDeclaredFeatureValidator. Validate is its one function.
package slicenodes
