package podvalidation

import (
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/kubeapi/check"
)

const (
	maxEvictionResponders = 10
	maxResponderPriority  = 100000
	// maxReservedPriority is the highest priority of the responders of Kubernetes, which pods do not name.
	maxReservedPriority = 999
)

// evictionResponders validates the components that end the pod in an orderly way.
func (v *checker) evictionResponders(list []corev1.EvictionResponder, path *field.Path) {
	if n := len(list); n > maxEvictionResponders {
		v.Add(field.TooMany(path, n, maxEvictionResponders))
		return
	}
	seen := map[string]bool{}
	for i := range list {
		if seen[list[i].Name] {
			v.Add(field.Duplicate(path.Index(i), &list[i]))
		}
		seen[list[i].Name] = true
	}
	for i := range list {
		r, p := &list[i], path.Index(i)
		v.Add(check.ForeignKey(r.Name, p.Child("name"))...)
		switch p := p.Child("priority"); {
		case r.Priority == nil:
			v.Add(field.Required(p, ""))
		case *r.Priority < 0:
			v.Add(field.Invalid(p, *r.Priority, "must be greater than or equal to 0"))
		case *r.Priority <= maxReservedPriority:
			v.Add(field.Invalid(p, *r.Priority, "priorities 0-999 are reserved for responders with *.k8s.io suffix"))
		case *r.Priority > maxResponderPriority:
			v.Add(field.Invalid(p, *r.Priority, fmt.Sprintf("must be less than or equal to %d", maxResponderPriority)))
		}
	}
}
