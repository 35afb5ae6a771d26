package filters

import (
	"context"
	"fmt"
	"net/http"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/request"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/guard/flowcontrol"
)

// Acting describes a filter of the chain and its effect on a request.
type Acting struct {
	Name string `json:"name"`
	Does string `json:"does,omitempty"`
}

// Verdict is the result of authorization.
type Verdict struct {
	User     string   `json:"user"`
	Groups   []string `json:"groups,omitempty"`
	Decision string   `json:"decision"` // allow, deny or "no opinion", which also rejects the request
	Reason   string   `json:"reason,omitempty"`
	Error    string   `json:"error,omitempty"`
}

// Acting returns the filters that are in the chain, outermost first.
func (o Options) Acting() []Acting {
	var all []Acting
	for _, f := range o.filters() {
		if f.Wrap != nil {
			all = append(all, Acting{Name: f.Name})
		}
	}
	return all
}

// Explain returns the effect of the filters on a request of the user of ctx, without sending it. r needs a method
// and a URL.
func (o Options) Explain(ctx context.Context, r *http.Request, info *request.Info) ([]Acting, Verdict) {
	var a authorizer.Attributes
	authorization.AttributesOf(info, request.UserFrom(ctx), &a)
	verdict := o.verdict(ctx, &a)
	does := map[string]string{
		"deadline":            o.explainDeadline(r, info),
		"audit":               explainAudit(o.Audit, &a),
		"priorityAndFairness": o.explainFlow(r, info, &a),
		"authorization":       verdict.Decision,
	}
	all := o.Acting()
	for i := range all {
		all[i].Does = does[all[i].Name]
	}
	return all, verdict
}

func (o Options) verdict(ctx context.Context, a *authorizer.Attributes) Verdict {
	v := Verdict{Decision: "allow"}
	if a.User != nil {
		v.User, v.Groups = a.User.Name, a.User.Groups
	}
	if o.Authorization == nil {
		return v
	}
	decision, reason, err := o.Authorization.Authorize(ctx, a)
	v.Reason = reason
	switch decision {
	case authorizer.Allow:
	case authorizer.Deny:
		v.Decision = "deny"
	default:
		v.Decision = "no opinion"
	}
	if err != nil {
		v.Error = err.Error()
	}
	return v
}

func (o Options) explainDeadline(r *http.Request, info *request.Info) string {
	longRunning := o.LongRunning
	if longRunning == nil {
		longRunning = LongRunning
	}
	switch {
	case longRunning(r, info):
		return "has no deadline, as the request is long-running"
	case o.RequestTimeout == 0:
		return "has no deadline"
	}
	return fmt.Sprintf("ends the request after %v", o.RequestTimeout)
}

func explainAudit(auditor *audit.Auditor, a *authorizer.Attributes) string {
	if auditor == nil {
		return ""
	}
	return "records at level " + string(auditor.Level(a))
}

func (o Options) explainFlow(r *http.Request, info *request.Info, a *authorizer.Attributes) string {
	if o.FlowControl == nil {
		return fmt.Sprintf("executes up to %d reads and %d writes", o.MaxRequestsInFlight,
			o.MaxMutatingRequestsInFlight)
	}
	if a.User == nil {
		return ""
	}
	var t flowcontrol.Ticket
	o.FlowControl.Classify(flowcontrol.Request{User: a.User, Info: info, Query: r.URL.RawQuery}, &t)
	return fmt.Sprintf("flow schema %s, priority level %s", t.FlowSchema(), t.PriorityLevel())
}
