// Package extensions tests APIs that others serve or convert: external API servers behind the
// aggregator, and conversion webhooks. The external server is cmd/sample-apiserver, and with -args -upstream (make
// test-others) that of k8s.io/sample-apiserver, with which it is compared.
package extensions
