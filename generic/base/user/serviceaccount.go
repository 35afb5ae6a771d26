package user

import (
	"strings"

	"k8s.io/apimachinery/pkg/api/validation"
)

// ServiceAccount takes a service account's user name apart; false where it is
// none, or none that could exist.
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

// ServiceAccountName is the user name of a service account.
func ServiceAccountName(namespace, name string) string {
	return ServiceAccountUser + namespace + ":" + name
}
