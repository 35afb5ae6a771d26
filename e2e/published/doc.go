// Package published installs the CRDs that projects publish, as they are in the
// projects' Go modules, with kubectl; lists and explains the resources; and
// creates, applies and patches the projects' own examples of them.
//
// The list of modules, their versions and files is in projects_test.go. A plain
// test run takes a few of them, -args -all (make published) takes all.
package published
