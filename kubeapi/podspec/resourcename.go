package podspec

import (
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	containerResources = sets.New("cpu", "memory", "ephemeral-storage")
	standardResources  = sets.New(
		"cpu", "memory", "ephemeral-storage", "requests.cpu", "requests.memory", "requests.ephemeral-storage",
		"limits.cpu", "limits.memory", "limits.ephemeral-storage", "pods", "resourcequotas", "services",
		"replicationcontrollers", "secrets", "configmaps", "persistentvolumeclaims", "storage", "requests.storage",
		"services.nodeports", "services.loadbalancers",
	)
	integerResources = sets.New(
		"pods", "resourcequotas", "services", "replicationcontrollers", "secrets", "configmaps",
		"persistentvolumeclaims", "services.nodeports", "services.loadbalancers",
	)
)

// ResourceName validates the name of any compute or quota resource.
func ResourceName(name string, path *field.Path) field.ErrorList {
	errs := qualified(name, path)
	if len(errs) == 0 && !strings.Contains(name, "/") && !standardResources.Has(name) && !IsHugePages(name) &&
		!IsHugePages(strings.TrimPrefix(name, "requests.")) {
		errs = append(errs, field.Invalid(path, name, "must be a standard resource type or fully qualified"))
	}
	return errs
}

// ContainerResourceName validates the name of a resource that a container asks for.
func ContainerResourceName(name string, path *field.Path) field.ErrorList {
	errs := ResourceName(name, path)
	if !strings.Contains(name, "/") {
		if !containerResources.Has(name) && !IsHugePages(name) {
			errs = append(errs, field.Invalid(path, name, "must be a standard resource for containers"))
		}
	} else if !Native(name) && !Extended(name) {
		errs = append(errs, field.Invalid(path, name, "doesn't follow extended resource name standard"))
	}
	return errs
}

// Native resources are in no domain, or in kubernetes.io's.
func Native(name string) bool {
	return !strings.Contains(name, "/") || strings.Contains(name, corev1.ResourceDefaultNamespacePrefix)
}

// Extended resources are in a domain of their owner.
func Extended(name string) bool {
	if Native(name) || strings.HasPrefix(name, corev1.DefaultResourceRequestsPrefix) {
		return false
	}
	return len(utilvalidation.IsQualifiedName(corev1.DefaultResourceRequestsPrefix+name)) == 0
}

// Overcommits reports whether a resource's limit may be above its request.
func Overcommits(name string) bool { return Native(name) && !IsHugePages(name) }

// Integer reports whether there are only whole numbers of a resource.
func Integer(name string) bool { return integerResources.Has(name) || Extended(name) }

// IsHugePages reports whether a name is that of a resource of huge pages.
func IsHugePages(name string) bool { return strings.HasPrefix(name, corev1.ResourceHugePagesPrefix) }

func qualified(name string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for _, msg := range utilvalidation.IsQualifiedName(name) {
		errs = append(errs, field.Invalid(path, name, msg))
	}
	return errs
}

// Quantity validates how much of a resource there is.
func Quantity(name string, value interface {
	Sign() int
	String() string
	MilliValue() int64
}, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	if value.Sign() < 0 {
		errs = append(errs, field.Invalid(path, value.String(), "must be greater than or equal to 0"))
	}
	if Integer(name) && value.MilliValue()%1000 != 0 {
		errs = append(errs, field.Invalid(path, value, "must be an integer"))
	}
	return errs
}
