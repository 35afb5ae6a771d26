// Package pki keeps the keys and certificates that a server needs and was not
// given: an authority with the serving certificate and the administrator's
// client certificate, the key that signs service account tokens, and a second
// authority for front proxies with the aggregator's client certificate.
//
// Ensure makes what is missing and replaces what is about to expire or does not
// fit any more; all else stays as it is, so that clients keep trusting the
// server over restarts. The key for HTTPS is RSA, as kube-apiserver generates it, so that clients with
// any cipher suites can connect. All other keys are ECDSA P-256, generated in less than a millisecond.
package pki
