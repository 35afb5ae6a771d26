// Package coreplugins has the admission plugins of extension API servers: NamespaceLifecycle, and the webhooks and
// policies of the core API server, which informers of that server follow, beside the server's own plugins. Install
// adds them to the configuration of a server. Without a core API server only the own plugins take effect.
package coreplugins
