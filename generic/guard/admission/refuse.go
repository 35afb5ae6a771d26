package admission

import (
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
)

// NewForbidden is the 403 status that refuses an operation because of err. A
// status stays what it is.
func NewForbidden(a *Attributes, err error) error {
	if _, ok := err.(apierrors.APIStatus); ok {
		return err
	}
	return Forbidden(a, err)
}

// Forbidden is NewForbidden as a status that can be changed further.
func Forbidden(a *Attributes, err error) *apierrors.StatusError {
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.ObjectName(), err)
}

// ObjectName is the object's name, or what its name will begin with.
func (a *Attributes) ObjectName() string {
	if a.Object == nil {
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
