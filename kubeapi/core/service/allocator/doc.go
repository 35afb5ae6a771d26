// Package allocator allocates cluster IPs and node ports so that replicas of the
// server never give one to two Services.
//
// A cluster IP is taken by creating the IPAddress object that is named after it:
// whoever creates it has it. Node ports are bits of one RangeAllocation at
// ranges/servicenodeports, changed by optimistic transactions. Both are where
// and how kube-apiserver v1.36 keeps them.
package allocator
