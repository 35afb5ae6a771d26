// Package flowcontrol declares the kinds of the group
// flowcontrol.apiserver.k8s.io/v1, FlowSchema and PriorityLevelConfiguration.
//
// The objects "exempt" and "catch-all" of each kind keep fixed specifications, but
// for the shares of the exempt level: the server needs them to answer at all. The
// consumer sets the condition Dangling of FlowSchemas, which reports whether their
// priority level is missing.
package flowcontrol
