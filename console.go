package triplane

import (
	"context"
	"strconv"

	"github.com/spf13/pflag"

	"triplane.dev/console"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/audit/backend"
	"triplane.dev/generic/guard/authentication"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/server"
)

// auditTailPath is the path of the latest audit events.
const auditTailPath = "/debug/audit"

// Console enables the console.
type Console struct {
	// Enabled (--console) is "true" or "false"; "" means true with the embedded etcd only.
	Enabled string
}

func (c *Console) addFlags(fs *pflag.FlagSet) {
	v := fs.VarPF((*optionalBool)(&c.Enabled), "console", "",
		"Serve the console at "+console.Path+" and Swagger UI at "+console.SwaggerPath+
			", with their endpoints: tokens for pages at "+console.TokenPath+", and the latest audit events at "+
			auditTailPath+
			" if there is an audit policy. The files of the pages need no authentication, everything else is "+
			"authorized. If blank, true with the embedded etcd and false with --etcd-servers.")
	v.NoOptDefVal = "true"
}

// optionalBool is a bool flag that may be unset.
type optionalBool string

func (d *optionalBool) String() string { return string(*d) }
func (d *optionalBool) Type() string   { return "bool" }

func (d *optionalBool) Set(text string) error {
	if text == "" {
		*d = ""
		return nil
	}
	v, err := strconv.ParseBool(text)
	*d = optionalBool(strconv.FormatBool(v))
	return err
}

// console reports whether the console is enabled.
func (o *Options) console() bool {
	if o.Console.Enabled == "" {
		return o.Etcd.Embedded()
	}
	return o.Console.Enabled == "true"
}

// consoleParts are the components of the console; nil if it is disabled.
type consoleParts struct {
	tokens *console.Tokens
	audit  *backend.Tail
}

// newConsole returns the components of the console. Its tokens of service accounts end when accounts no longer
// finds them.
func newConsole(o *Options, accounts serviceaccount.Getter) *consoleParts {
	if !o.console() {
		return nil
	}
	exists := func(ctx context.Context, u *user.Info) error { return serviceaccount.CheckUser(ctx, accounts, u) }
	return &consoleParts{tokens: console.NewTokens(exists), audit: &backend.Tail{}}
}

// configure adds the authenticator of the console's tokens, and the public files.
func (c *consoleParts) configure(config *server.Config) {
	if c == nil {
		return
	}
	config.Authentication = authentication.UnionFailFirst(c.tokens, config.Authentication)
	config.CrossSiteOptions = filters.CrossSiteOptions{RejectCrossSite: true, SandboxProxied: true}
	config.PublicFilesOptions = filters.PublicFilesOptions{PublicFiles: console.Handler(),
		PublicPrefixes: console.Prefixes()}
}

// auditors returns the audit backends of the console.
func (c *consoleParts) auditors() []audit.Backend {
	if c == nil {
		return nil
	}
	return []audit.Backend{c.audit}
}

// install serves the endpoints that the pages use in addition to the API.
func (c *consoleParts) install(s *server.GenericAPIServer) {
	if c == nil {
		return
	}
	mux := s.Handler.NonGoRestfulMux
	mux.UnlistedHandle(console.TokenPath, c.tokens)
	if s.Config().Audit != nil {
		mux.UnlistedHandle(auditTailPath, c.audit)
	}
}
