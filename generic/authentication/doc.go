// Package authentication finds out who makes a request, one file an
// authenticator. Service account tokens have a package of their own below.
//
// An authenticator that finds no credential of its kind has no opinion (nil,
// nil), so that the next may look; one that finds a wrong credential returns an
// error, and a request that no authenticator accepted while one refused is
// answered 401 – it never becomes anonymous.
package authentication
