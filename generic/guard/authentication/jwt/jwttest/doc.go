// Package jwttest is an OpenID Connect issuer for tests: a TLS server with a
// discovery document, keys that can be rotated, and a signer of tokens.
package jwttest
