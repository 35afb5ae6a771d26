// Package cel validates custom resources by the CEL rules of their schema,
// x-kubernetes-validations.
//
// A schema becomes a tree of nodes, each with the CEL type of its values. Rules
// see values through it: property names that are no identifiers are escaped,
// texts of a time format are times, and what the schema does not know is not
// there. Rules are compiled on first use, and their evaluation is bounded in
// cost and by the request's context.
package cel
