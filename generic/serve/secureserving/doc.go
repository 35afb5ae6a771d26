// Package secureserving is the TLS listener of a server (the flags of "secure serving"): certificates by server name,
// HTTP/1.1 of net/http, HTTP/2 of package http2, and a shutdown that answers what was read.
//
// A SecureServing has the settings; Serve accepts connections until Shutdown of the returned Server.
package secureserving
