// Package authentication identifies the user of a request, one file an
// authenticator. Service account tokens, JSON Web Tokens of other issuers and
// webhooks are in packages below.
//
// An authenticator that finds no credential of its kind has no opinion (nil,
// nil), and the next one is asked. One that finds a wrong credential returns an
// error. A request that no authenticator accepts and one refuses is answered with 401;
// it never becomes anonymous.
package authentication
