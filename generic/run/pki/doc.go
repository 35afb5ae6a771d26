// Package pki generates and renews keys and certificates that no flag provides. These are a CA with the serving
// certificate and the administrator's client certificate, the key that signs service account tokens, and a CA for
// front proxies with the aggregator's client certificate.
//
// Ensure creates missing files, and replaces certificates that are about to expire or no longer match. It keeps
// all others, so that clients trust the server across restarts. Keys are ECDSA P-256, which take less than a
// millisecond to generate, and a handshake a tenth of the time of RSA. Clients that support only RSA, like those with
// some cipher suites, get a serving certificate with an RSA key, as kube-apiserver's.
package pki
