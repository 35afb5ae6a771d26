// Package authoptions has the flags of authentication and authorization: of a core server (Authentication,
// Authorization), and of an extension API server, which delegates both to the core server (DelegatedAuthentication,
// DelegatedAuthorization, CoreAPI). Their types follow the contract of package options.
//
// Build returns the authenticators and authorizers, with what reloads and closes them.
package authoptions
