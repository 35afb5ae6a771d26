// Package expression compiles and evaluates the CEL expressions of admission:
// match conditions of webhooks and policies, and what policies are made of.
//
// An expression sees object, oldObject, request and namespaceObject, and, where
// a Compiler is configured so, params, the authorizer and the policy's variables. It is
// compiled once and then evaluated any number of times, concurrently; each
// evaluation is charged to a budget.
package expression
