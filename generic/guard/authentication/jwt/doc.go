// Package jwt authenticates bearer tokens that are JSON Web Tokens of external issuers, such as OpenID Connect
// ID tokens (KEP-3331).
//
// A Configuration is the content of --authentication-config; the --oidc-* flags are converted to one. Compile
// validates it and compiles its CEL expressions. Configured holds the authenticators of the current
// configuration and replaces them when the file changes.
//
// A token is only checked by the authenticator of its claim "iss". First the signature must match a public key
// of the issuer, with an asymmetric algorithm. Then audience, times and the configured rules are checked. Then
// the claims are mapped to a user. The issuer is contacted in the background until it responds; before, its
// tokens are rejected. Keys are fetched again when a token names an unknown key.
package jwt
