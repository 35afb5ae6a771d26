// Package console is what shows the server to people: the console at /console/ and
// Swagger UI at /swagger-ui/, as files in the program, and what they need of the
// server beside the API: tokens for a page, and the last audit events.
//
// # Who may
//
// The files are the program's own and hold nothing of the server, so everybody may
// have them: a browser that opens a page cannot send a token with that, and a server
// without anonymous users would have no page to sign in at. All that a page shows it
// asks the API for, with the credential of its user, as kubectl would; what that user
// may not see the page does not see.
//
// A page gets a token from its user, or the browser shows a certificate. A token is
// kept in the memory of the page and nowhere else: what the API server proxies, as the
// pages of pods, has the same origin and could read cookies and storage. There are no
// cookies. Since a browser shows its certificate whoever makes it send a request, the
// server refuses what pages of other sites ask it to change, and gives the pages that it
// proxies an origin of their own (filters.CrossSiteOptions).
//
// Pages run only scripts and styles of their own files (Content-Security-Policy), no
// page may frame them, and they load nothing from elsewhere.
//
// # Tokens for pages
//
// A browser has no kubeconfig. "triplane console" asks the server at TokenPath, as the
// user that its kubeconfig has, for a token that stands for this user (Tokens), and opens
// the console with the token in the fragment of the URL, which browsers send to nobody.
// Such a token lives for an hour at most, ends with the process that issued it and with
// its user's service account, and cannot get another one, nor can a request that
// impersonates. A user's tokens make no room for themselves but that of his own. Who may ask is up to authorization: “post” on the path, which
// by default only administrators have.
//
// # Assets
//
// assets/ is written by hand, as modules that browsers run as they are. assets/README.md
// says how; swagger-ui/ comes from npm, by vendor.sh.
package console
