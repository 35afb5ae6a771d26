// Package jwt authenticates bearer tokens that are JSON Web Tokens of external
// issuers: OpenID Connect ID tokens and what looks like them (KEP-3331).
//
// A Configuration is what --authentication-config holds; the --oidc-* flags are
// turned into one, so that there is one road. Compile validates a configuration
// and compiles its CEL expressions; a Set is the authenticators of one compiled
// configuration; Configured holds the Set that is in force and replaces it when
// the file changes.
//
// A token is offered to the authenticator of its "iss" claim and to no other. Its
// signature must be by a key that the issuer publishes, with an asymmetric
// algorithm; its audience, times and the configured rules are checked next, and
// only then its claims are mapped to a user. An issuer is contacted in the
// background, again and again until it answers; meanwhile its tokens are refused.
// Keys are fetched again when a token names one that is not known.
package jwt
