package main

import (
	"context"
	"errors"
	"slices"

	"triplane.dev/apiserver"
	"triplane.dev/cmd/sample-apiserver/v1alpha1"
	"triplane.dev/generic/guard/admission"
)

// banFlunder rejects flunders with names that a fischer disallows. It watches fischers with a loopback client.
type banFlunder struct {
	fischers *apiserver.Informer[v1alpha1.Fischer]
}

func newBanFlunder(needs admission.Needs) (admission.Interface, error) {
	fischers, err := apiserver.NewInformer[v1alpha1.Fischer](needs.Loopback,
		v1alpha1.GroupVersion.WithResource("fischers"))
	if err != nil {
		return nil, err
	}
	needs.Go(fischers.RunWithContext)
	return &banFlunder{fischers}, nil
}

// Handles implements admission.Interface.
func (*banFlunder) Handles(op admission.Operation) bool { return op == admission.Create }

// Admit implements admission.MutatingInterface, so that it rejects objects before other plugins mutate them. It
// changes nothing.
func (b *banFlunder) Admit(_ context.Context, a *admission.Attributes) error {
	if a.Resource.Group != v1alpha1.GroupVersion.Group || a.Resource.Resource != "flunders" {
		return nil
	}
	if !b.fischers.HasSynced() {
		return admission.NewForbidden(a, errors.New("not yet ready to handle request"))
	}
	for _, f := range b.fischers.List("") {
		if slices.Contains(f.DisallowedFlunders, a.Name) {
			return admission.NewForbidden(a, errors.New("this name may not be used, please change the resource name"))
		}
	}
	return nil
}
