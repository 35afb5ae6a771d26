// Package quota computes what objects take of the quotas of their namespace: which
// quotas count them, what they must say for it, and how much of which resource
// they use. It knows objects and quotas only; who charges them is in
// kubeapi/admission.
package quota
