// Package webhook implements MutatingAdmissionWebhook and
// ValidatingAdmissionWebhook: it sends operations to remote services, as webhook
// configurations demand. Validating webhooks are called concurrently, mutating ones
// one after the other.
//
// Configurations are compiled when they change and only read afterwards: a request
// loads one pointer, and one that no webhook matches pays for comparing rules only.
package webhook
