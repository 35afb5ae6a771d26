// Package configured is the admission plugins that are configured through the API:
// MutatingAdmissionPolicy, MutatingAdmissionWebhook, ValidatingAdmissionPolicy and
// ValidatingAdmissionWebhook. They follow their configurations, of this server or of the core API server
// in front of it; requests wait until those that exist are known. What manifests define (package
// manifest) is in force besides, before it.
package configured
