// Package admission tests webhooks and policies of the built server.
package admission
