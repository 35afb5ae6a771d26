// Package former tests upgrades from the program of the former release, and the way back, with that program: it is
// built from a commit of this repository. Without its history, as in a shallow clone, the tests are skipped.
package former
