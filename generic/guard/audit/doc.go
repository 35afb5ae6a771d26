// Package audit records who did what, in the events of audit.k8s.io/v1.
//
// A Policy says how much of which request is recorded. An Auditor applies it:
// the filter chain begins a Record for each request, opens it when it knows who
// makes the request, and completes it with the response. In between whoever
// finds out something adds it: handlers the objects that travel, admission and
// authorization annotations. They reach the Record through package request, and
// all its methods do nothing on a nil Record, which is what a request has that
// is not audited. So nothing is paid for auditing without a policy.
//
// A Record emits an event at each stage that the policy does not omit:
// RequestReceived, ResponseStarted (long-running requests, and those whose
// credentials are wrong), ResponseComplete or Panic. Events go to a Backend, which
// may keep them; they are not changed afterwards. Package audit/backend has them:
// log, webhook, batching, truncation.
//
// The types have the JSON form of k8s.io/apiserver's; see
// https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/.
package audit
