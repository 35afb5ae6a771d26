// Package external signs service account tokens with, and verifies them by, keys of
// another process, which is reached by gRPC over a Unix socket (KEP-740,
// k8s.io/externaljwt/apis/v1).
//
// The private key never enters this process. The public keys are fetched when a
// Signer is made, then as often as the signer asks for, and when a token names a
// key that is not known.
package external
