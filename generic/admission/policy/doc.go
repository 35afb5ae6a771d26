// Package policy judges and changes objects by the admission policies that are
// stored in the API: ValidatingAdmissionPolicy and MutatingAdmissionPolicy, which
// bindings put to use, with parameters where they name some.
//
// Policies are compiled when they change and then only read. A request that no
// policy is about pays for comparing rules and nothing else.
package policy
