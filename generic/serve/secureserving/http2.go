package secureserving

import (
	"context"
	"crypto/tls"
	"net/http"

	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/serve/http2"
)

// serveHTTP2 serves a connection that net/http has handed over, with its handler.
func (c *http1) serveHTTP2(s *http2.Server, conn *tls.Conn, h http.Handler) {
	c.release(conn)
	ctx := context.Background()
	// net/http passes the connection's context to handlers of TLSNextProto in this way.
	if of, ok := h.(interface{ BaseContext() context.Context }); ok {
		ctx = of.BaseContext()
	}
	s.Serve(conn, &direct{c.handler, h}, func(c *http2.Connection) context.Context {
		return filters.WithConnection(ctx, c)
	})
}

// direct serves requests without the handlers of net/http, whose frames would be a fifth of the stack of an idle watch.
type direct struct {
	handler http.Handler
	// options serves those of "*".
	options http.Handler
}

// ServeHTTP implements http.Handler.
func (d *direct) ServeHTTP(w http.ResponseWriter, r *http.Request) {
	if r.RequestURI == "*" {
		d.options.ServeHTTP(w, r)
		return
	}
	d.handler.ServeHTTP(w, r)
}
