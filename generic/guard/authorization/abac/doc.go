// Package abac implements the ABAC authorizer. It reads its policy file once.
//
// Each line of the file is a JSON object: a Policy of abac.authorization.kubernetes.io/v1beta1, or the older
// form without apiVersion and kind, in which an absent attribute matches everything. A request is allowed if
// one line matches all of its attributes. No line denies.
package abac
