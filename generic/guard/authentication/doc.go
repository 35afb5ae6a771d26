// Package authentication authenticates requests. Each file has one authenticator. Packages below have those for
// service account tokens, JSON Web Tokens of other issuers, and webhooks.
//
// An authenticator that finds no credential of its type returns (nil, nil), and the next one is tried. For an
// invalid credential it returns an error. If an authenticator returned an error and none accepts the request,
// the response is 401; such a request is never anonymous.
package authentication
