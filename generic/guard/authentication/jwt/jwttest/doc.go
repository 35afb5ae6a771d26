// Package jwttest has an OpenID Connect issuer for tests: a TLS server with a discovery document, keys that can
// be rotated, and a token signer.
package jwttest
