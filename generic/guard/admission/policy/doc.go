// Package policy implements ValidatingAdmissionPolicy (KEP-3488) and MutatingAdmissionPolicy (KEP-3962): CEL
// expressions that bindings apply to resources, optionally with params.
//
// Policies are compiled when they change and are immutable afterwards. A policy that does not compile is logged
// and ignored. A request that matches no policy only costs the comparison of rules. Both plugins are safe for
// concurrent use.
package policy
