// Package match decides which operations a webhook or policy applies to: by rules
// over operation, resource and scope, and by the labels of the namespace and of the
// object. Its answer includes the version in which the object has to be shown.
package match
