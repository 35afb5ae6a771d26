package registry

import (
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/registry/rest"
)

var scaleKind = schema.GroupVersionKind{Group: "autoscaling", Version: "v1", Kind: "Scale"}

func (s *Store[T]) Scale() rest.Storage { return nil }
