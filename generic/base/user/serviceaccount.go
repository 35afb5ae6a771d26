package user

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// ServiceAccount splits the user name of a service account. ok is false if it is not a valid one.
func ServiceAccount(userName string) (namespace, name string, ok bool) {
	rest, ok := strings.CutPrefix(userName, ServiceAccountUser)
	if !ok {
		return "", "", false
	}
	namespace, name, ok = strings.Cut(rest, ":")
	if !ok || strings.Contains(name, ":") ||
		len(validation.ValidateNamespaceName(namespace, false)) > 0 ||
		len(validation.ValidateServiceAccountName(name, false)) > 0 {
		return "", "", false
	}
	return namespace, name, true
}

// ServiceAccountName returns the user name of a service account.
func ServiceAccountName(namespace, name string) string {
	return ServiceAccountUser + namespace + ":" + name
}
