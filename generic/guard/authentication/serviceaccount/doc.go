// Package serviceaccount issues and checks the tokens of service accounts:
// signed JWTs that name the account and, mostly, an object they are bound to.
//
// Issuer signs (the TokenRequest API), Authenticator checks, Discovery serves
// the OpenID documents with which others can check. A token is good while its
// signature, times, audiences and issuer are, and the account and the bound
// object exist with the UIDs in the token: those are looked up on each use, so
// that deleting them revokes at once. Only the signature's check is remembered.
package serviceaccount
