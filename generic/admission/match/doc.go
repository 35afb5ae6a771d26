// Package match tells which operations a webhook or policy is about: by rules
// over operation, resource and scope, by the labels of the namespace and of the
// object. Its answer says in which version the object is to be shown.
package match
