package controllers

import (
	"context"
	"errors"

	networkingv1 "k8s.io/api/networking/v1"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/api/rest"
	"triplane.dev/generic/base/request"
	"triplane.dev/kubeapi/controllers/rootca"
	"triplane.dev/kubeapi/controllers/serviceaccount"
	"triplane.dev/kubeapi/controllers/servicecidr"
	"triplane.dev/kubeapi/group"
)

// WriteDefaults writes what the selected controllers write in a new server: the default service account and the CA in
// each namespace, and the finalizers of ServiceCIDRs.
func WriteDefaults(ctx context.Context, stores *group.Stores, o *Options) error {
	namespaces, err := group.Namespaces(stores).ListConsistent(ctx, "")
	for _, ns := range namespaces {
		if selected(o.Selection, accounts) {
			err = errors.Join(err, create(ctx, group.ServiceAccounts(stores), serviceaccount.Default(ns.Name)))
		}
		if selected(o.Selection, rootCAs) && len(o.RootCA) > 0 {
			err = errors.Join(err, create(ctx, group.ConfigMaps(stores), rootca.ConfigMap(ns.Name, o.RootCA)))
		}
	}
	cidrs := group.StoreOf(group.ServiceCIDRs(stores))
	if err != nil || cidrs == nil || !selected(o.Selection, serviceCIDRs) {
		return err
	}
	all, err := group.ServiceCIDRs(stores).ListConsistent(ctx, "")
	for _, c := range all {
		_, failed := cidrs.Modify(ctx, c.Name, nil, false, func(c *networkingv1.ServiceCIDR) error {
			servicecidr.AddFinalizer(c)
			return nil
		})
		err = errors.Join(err, failed)
	}
	return err
}

func create[T kind.Object](ctx context.Context, in group.Handle[T], o T) error {
	_, err := in.Verbs().Create(request.WithNamespace(ctx, o.GetNamespace()),
		rest.CreateRequest{Name: o.GetName(), Object: o})
	return err
}
