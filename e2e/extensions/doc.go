// Package extensions tests APIs that others serve or convert: external API servers behind the
// aggregator, and conversion webhooks.
package extensions
