package workspaces

import (
	"context"
	"net/http"

	restclient "k8s.io/client-go/rest"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/registry"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/authorization"
	"triplane.dev/generic/serve/server"
)

// ServerConfig returns the configuration of a workspace's servers: that of the process without guards, and without what
// only the outermost chain has.
func (in *Inputs) ServerConfig(process *server.Config, storage registry.RESTOptionsGetter,
	documents *openapi.Service) *server.Config {
	c, shared := *process, *process.Metrics
	shared.Registry = process.Metrics.Nested()
	c.Metrics, c.Nested, c.Serving, c.Audit, c.FlowControl, c.Flags = &shared, true, nil, nil, nil, nil
	c.ShutdownDelayDuration, c.ShutdownSendRetryAfter, c.DebugSocketPath = 0, false, ""
	c.BuildHandlerChain, c.EnableProfiling, c.EnableLogs = nil, false, false
	c.Discovery, c.EnableDiscovery, c.RESTOptionsGetter, c.OpenAPI = discovery.NewGroups(), true, storage, documents
	c.LoopbackClientConfig = restclient.CopyConfig(process.LoopbackClientConfig)
	c.LoopbackClientConfig.Wrap(func(next http.RoundTripper) http.RoundTripper {
		return loopback{next, URLPath(in.Name), in.Mark}
	})
	return &c
}

// Documents reports whether the root's OpenAPI document of a path is that of workspaces, too.
func Documents(path string) bool {
	group := "apis/" + GroupVersion.Group
	return path != group && path != group+"/"+GroupVersion.Version
}

// loopback sends the requests of a chain's own clients to the chain through the filters of the root chain.
type loopback struct {
	next http.RoundTripper
	path string
	mark func(context.Context) context.Context
}

// RoundTrip implements http.RoundTripper.
func (t loopback) RoundTrip(r *http.Request) (*http.Response, error) {
	r = r.WithContext(t.mark(r.Context()))
	u := *r.URL
	u.Path = t.path + u.Path
	if u.RawPath != "" {
		u.RawPath = t.path + u.RawPath
	}
	r.URL = &u
	return t.next.RoundTrip(r)
}

// Admins allows everything to the users of spec.admins.
type Admins func(*user.Info) bool

// Authorize implements authorizer.Authorizer.
func (is Admins) Authorize(_ context.Context, a *authorizer.Attributes) (authorizer.Decision, string, error) {
	if a.User != nil && is(a.User) {
		return authorizer.Allow, "an administrator of the workspace", nil
	}
	return authorizer.NoOpinion, "", nil
}

// RulesFor implements authorizer.RuleResolver.
func (is Admins) RulesFor(ctx context.Context, u *user.Info, namespace string) (resource,
	nonResource []authorizer.Rule, incomplete bool, err error) {
	if !is(u) {
		return nil, nil, false, nil
	}
	return authorization.AlwaysAllow{}.RulesFor(ctx, u, namespace)
}
