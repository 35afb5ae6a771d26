// Package abac authorizes by the lines of a policy file, one Policy of
// abac.authorization.kubernetes.io/v1beta1 in JSON a line. The file is read once;
// a line that cannot be parsed is an error.
//
// A request that a line matches is allowed; all others get no opinion, never a
// refusal. Decisions need no lock and no I/O.
package abac
