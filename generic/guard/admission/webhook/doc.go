// Package webhook implements MutatingAdmissionWebhook and ValidatingAdmissionWebhook. Validating webhooks are
// called concurrently, mutating ones one after the other.
//
// Configurations are compiled when they change and are immutable afterwards. A request loads one pointer. A
// request that matches no webhook only costs the comparison of rules.
package webhook
