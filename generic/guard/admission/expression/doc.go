// Package expression compiles and evaluates the CEL expressions of admission: the match conditions of webhooks
// and policies, and the validations, mutations, variables and annotations of policies.
//
// Every expression has the variables object, oldObject, request and namespaceObject. Depending on its Scope it
// also has params, authorizer and variables. An expression is compiled once and can then be evaluated
// concurrently. Each evaluation is charged to a cost budget.
package expression
