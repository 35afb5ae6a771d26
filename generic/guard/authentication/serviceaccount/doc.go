// Package serviceaccount issues and authenticates service account tokens: signed JWTs that name the service
// account and, usually, an object that they are bound to.
//
// Issuer signs tokens for the TokenRequest API. Authenticator authenticates tokens. Discovery serves the OpenID
// Connect documents with which other parties verify tokens. A token is valid if its signature, times, audiences
// and issuer are, and if the service account and the bound object exist with the UIDs in the token. These
// objects are looked up on each use, so that deleting them revokes the token at once. Only the verification of
// the signature is cached.
package serviceaccount
