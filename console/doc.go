// Package console serves the web console at /console/ and Swagger UI at /swagger-ui/ from files in the program,
// and their endpoints: tokens for pages, and the latest audit events.
//
// # Security
//
// The files need no authentication, because they contain nothing of the server. A browser that opens a page cannot
// send a token, so with authentication there would be no page to log in at. The pages request all data from the
// API with the credential of their user, so a page shows what its user may read.
//
// A user enters a token in the page, or the browser sends a client certificate. The page stores the token in
// memory only: proxied pages, for example of pods, have the same origin and could read cookies and storage. There
// are no cookies. Browsers attach client certificates to cross-site requests, so the server rejects mutating
// requests of other sites' pages, and sandboxes the pages that it proxies (filters.CrossSiteOptions).
//
// Pages run only their own scripts and styles (Content-Security-Policy), load nothing from other servers, and
// cannot be framed.
//
// # Tokens for pages
//
// A browser cannot read a kubeconfig. "triplane console" requests a token for the user of its kubeconfig at
// TokenPath (Tokens). It opens the console with the token in the fragment of the URL, which browsers do not send
// to servers.
//
// Such a token is valid for at most an hour. It ends with the process that issued it, and with its user's service
// account. It cannot be used to get another token, nor can a request that impersonates. A user's new token
// replaces only that user's tokens. The request is authorized as "post" on the path, which by default only
// administrators may do.
//
// # Assets
//
// assets/ contains hand-written modules that browsers run without a build step; assets/README.md explains them.
// swagger-ui/ comes from npm, by vendor.sh.
package console
