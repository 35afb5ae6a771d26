// Package secureserving is the TLS listener of a server (the flags of "secure serving"): certificates by server name,
// HTTP/1.1 and HTTP/2, small writes gathered into TLS records, connections that read nothing closed, and a shutdown
// that answers what was read.
//
// A SecureServing has the settings; Serve accepts connections until Shutdown of the returned Server.
package secureserving
