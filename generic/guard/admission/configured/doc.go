// Package configured has the admission plugins that are configured through the API: MutatingAdmissionPolicy,
// MutatingAdmissionWebhook, ValidatingAdmissionPolicy and ValidatingAdmissionWebhook.
//
// The plugins follow their configurations with informers, on this server or, in an extension API server, on the
// core API server. Requests wait until the informers are synced. Webhooks and policies from files (package
// manifest) are in effect earlier and independently of the API.
package configured
