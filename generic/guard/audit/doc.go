// Package audit records requests as events of audit.k8s.io/v1.
//
// A Policy defines the level of detail for each request. An Auditor applies it: the filter chain begins a
// Record for each request, opens it once the user is known, and completes it with the response. In between,
// handlers add the objects of request and response, and admission and authorization add annotations. They get
// the Record through package request. All its methods do nothing on a nil Record, which is that of a request
// that is not audited. Auditing therefore costs nothing without a policy.
//
// A Record emits an event at each stage that the policy does not omit: RequestReceived, ResponseStarted (for
// long-running requests and those with invalid credentials), ResponseComplete or Panic. Events are immutable
// afterwards, so that a Backend may keep them. Package audit/backend has the backends: log, webhook, batching,
// truncation.
//
// The types have the same JSON form as those of k8s.io/apiserver:
// https://kubernetes.io/docs/reference/config-api/apiserver-audit.v1/.
package audit
