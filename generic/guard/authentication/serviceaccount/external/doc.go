// Package external connects to an external signer of service account tokens, over gRPC on a Unix socket
// (KEP-740, k8s.io/externaljwt/apis/v1).
//
// The private key never enters this process. The public keys are fetched when a Signer is created, at the
// interval that the signer requests, and when a token has an unknown key ID.
package external
