// Package match decides to which operations a webhook or policy applies: by rules over operation, resource and
// scope, and by the labels of the namespace and of the object. It also selects the version in which the webhook
// or policy receives the object.
package match
