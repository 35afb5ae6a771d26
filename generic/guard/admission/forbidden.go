package admission

import (
	"cmp"
	"fmt"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// NewForbidden returns a 403 status with the reason err. An err that is an API status is returned unchanged.
func NewForbidden(a *Attributes, err error) error {
	if _, ok := err.(apierrors.APIStatus); ok {
		return err
	}
	return Forbidden(a, err)
}

// Forbidden is NewForbidden with a result that callers can modify. An object without any name is called "Unknown".
func Forbidden(a *Attributes, err error) *apierrors.StatusError {
	return apierrors.NewForbidden(a.Resource.GroupResource(), cmp.Or(a.ObjectName(), "Unknown"), err)
}

// Forbiddenf is Forbidden for a formatted reason, which may wrap an error.
func Forbiddenf(a *Attributes, format string, args ...any) error {
	return Forbidden(a, fmt.Errorf(format, args...))
}

// ObjectName returns the object's name, or its generateName while it has no name. In a subresource it is the name in
// the path.
func (a *Attributes) ObjectName() string {
	if a.Object == nil || a.Subresource != "" && a.Name != "" {
		return a.Name
	}
	m, err := meta.Accessor(a.Object)
	switch {
	case err != nil:
	case m.GetName() != "":
		return m.GetName()
	case m.GetGenerateName() != "":
		return m.GetGenerateName()
	}
	return a.Name
}
