// Package pki generates and renews keys and certificates that no flag provides. These are a CA with the serving
// certificate and the administrator's client certificate, the key that signs service account tokens, and a CA for
// front proxies with the aggregator's client certificate.
//
// Ensure creates missing files, and replaces certificates that are about to expire or no longer match. It keeps
// all others, so that clients trust the server across restarts. The serving key is RSA, like kube-apiserver's, so
// that clients with any cipher suites can connect. All other keys are ECDSA P-256, which takes less than a
// millisecond to generate.
package pki
