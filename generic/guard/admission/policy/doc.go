// Package policy implements ValidatingAdmissionPolicy (KEP-3488) and
// MutatingAdmissionPolicy (KEP-3962): CEL expressions that are stored in the API and
// put into force by bindings, with parameters where they name some.
//
// Policies are compiled when they change and only read afterwards; a policy that
// does not compile is logged and not in force. A request that no policy matches
// pays for comparing rules only. Both plugins are safe for concurrent use.
package policy
