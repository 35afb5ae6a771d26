package triplane

import (
	"context"
	"strconv"

	"github.com/spf13/pflag"

	"triplane/console"
	"triplane/generic/base/user"
	"triplane/generic/guard/audit"
	"triplane/generic/guard/audit/backend"
	"triplane/generic/guard/authentication"
	"triplane/generic/guard/authentication/serviceaccount"
	"triplane/generic/serve/filters"
	"triplane/generic/serve/server"
)

// auditTailPath is where the last audit events are.
const auditTailPath = "/debug/audit"

// Console is whether the console is served.
type Console struct {
	// Enabled (--console) is "true" or "false"; "" leaves it to the kind of storage.
	Enabled string
}

func (c *Console) addFlags(fs *pflag.FlagSet) {
	v := fs.VarPF((*decision)(&c.Enabled), "console", "", "Serve the console at "+console.Path+" and Swagger UI at "+console.SwaggerPath+
		", and what they need: tokens for pages at "+console.TokenPath+" and, with an audit policy, the last audit events at "+auditTailPath+
		". The files of the pages need no credential, all else is authorized. If blank, true with the embedded etcd and false with --etcd-servers.")
	v.NoOptDefVal = "true"
}

// decision is a bool that may be left open.
type decision string

func (d *decision) String() string { return string(*d) }
func (d *decision) Type() string   { return "bool" }

func (d *decision) Set(text string) error {
	if text == "" {
		*d = ""
		return nil
	}
	v, err := strconv.ParseBool(text)
	*d = decision(strconv.FormatBool(v))
	return err
}

// console reports whether the console is served.
func (o *Options) console() bool {
	if o.Console.Enabled == "" {
		return o.Etcd.Embedded()
	}
	return o.Console.Enabled == "true"
}

// consoleParts is what the console needs of the server; nil where there is none.
type consoleParts struct {
	tokens *console.Tokens
	audit  *backend.Tail
}

// newConsole has tokens end with the service accounts that accounts finds.
func newConsole(o *Options, accounts serviceaccount.Getter) *consoleParts {
	if !o.console() {
		return nil
	}
	exists := func(ctx context.Context, u *user.Info) error { return serviceaccount.CheckUser(ctx, accounts, u) }
	return &consoleParts{tokens: console.NewTokens(exists), audit: &backend.Tail{}}
}

// configure adds tokens for pages to those that authenticate, and the public files.
func (c *consoleParts) configure(config *server.Config) {
	if c == nil {
		return
	}
	config.Authentication = authentication.UnionFailFirst(c.tokens, config.Authentication)
	config.CrossSiteOptions = filters.CrossSiteOptions{RefuseCrossSite: true, SandboxProxied: true}
	config.PublicFilesOptions = filters.PublicFilesOptions{PublicFiles: console.Handler(), PublicPrefixes: console.Prefixes()}
}

// auditors are the backends of the console.
func (c *consoleParts) auditors() []audit.Backend {
	if c == nil {
		return nil
	}
	return []audit.Backend{c.audit}
}

// install serves what the pages ask for beside the API.
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
