package bootstrap

import (
	"context"
	"fmt"
	"hash/fnv"
	"net"
	"slices"
	"time"

	corev1 "k8s.io/api/core/v1"
	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/klog/v2"

	"triplane.dev/kubeapi/group"
)

// cidrController is the name under which the ServiceCIDR "kubernetes" is kept.
const cidrController = "kubernetes-service-cidr-controller"

// ServiceCIDR makes sure of the ServiceCIDR "kubernetes" of the configured ranges. One that is
// there stays as it is, since Services have IPs of it, but for a range of the other family that
// the configuration adds; an event says what differs.
func ServiceCIDR(ctx context.Context, stores *group.Stores, ranges []*net.IPNet) error {
	if len(ranges) == 0 {
		return nil
	}
	c := &networkingv1.ServiceCIDR{ObjectMeta: metav1.ObjectMeta{
		Name: "kubernetes", ManagedFields: written("networking.k8s.io/v1", `{"f:spec":{"f:cidrs":{}}}`),
	}}
	for _, r := range ranges {
		c.Spec.CIDRs = append(c.Spec.CIDRs, r.String())
	}
	kept := group.ServiceCIDRs(stores)
	err := put(ctx, kept, c, func(have *networkingv1.ServiceCIDR) bool {
		if !addsFamily(have.Spec.CIDRs, c.Spec.CIDRs) {
			return false
		}
		have.Spec.CIDRs = c.Spec.CIDRs
		return true
	})
	if err != nil {
		return err
	}
	have, err := kept.GetConsistent(ctx, "", "kubernetes")
	if err != nil {
		return err
	}
	if !slices.Equal(have.Spec.CIDRs, c.Spec.CIDRs) {
		return reportOtherRanges(ctx, group.Events(stores), have, c.Spec.CIDRs)
	}
	if len(have.Status.Conditions) > 0 {
		return nil
	}
	store := group.StoreOf(kept)
	if store == nil {
		return fmt.Errorf("%s cannot be updated", kept.Resource())
	}
	_, err = store.Modify(asServer(ctx), "kubernetes", store.Kind().Status, false,
		func(c *networkingv1.ServiceCIDR) error {
			markReady(c)
			return nil
		})
	return err
}

// markReady sets the condition that lets Services have IPs of a ServiceCIDR.
func markReady(c *networkingv1.ServiceCIDR) {
	const fields = `{"f:status":{"f:conditions":{"k:{\"type\":\"Ready\"}":{".":{},"f:lastTransitionTime":{},"f:message":{},"f:status":{},"f:type":{}}}}}`
	at := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	c.Status.Conditions = []metav1.Condition{{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes default Service CIDR is ready", LastTransitionTime: at,
	}}
	c.ManagedFields = append([]metav1.ManagedFieldsEntry{{
		Manager: cidrController, Operation: metav1.ManagedFieldsOperationApply, APIVersion: "networking.k8s.io/v1",
		Time: &at, FieldsType: "FieldsV1", Subresource: "status", FieldsV1: &metav1.FieldsV1{Raw: []byte(fields)},
	}}, c.ManagedFields...)
}

// addsFamily reports whether the wanted ranges are the present one and one of another family.
func addsFamily(have, want []string) bool {
	return len(have) == 1 && len(want) == 2 && have[0] == want[0]
}

// reportOtherRanges writes an event that says that the ranges of the flags are not used. Its
// name makes it one for each difference, until it expires.
func reportOtherRanges(ctx context.Context, events group.Handle[*corev1.Event], have *networkingv1.ServiceCIDR,
	want []string) error {
	message := fmt.Sprintf("The default ServiceCIDR %v does not match the controller flag configurations %v",
		have.Spec.CIDRs, want)
	hash := fnv.New64a()
	_, _ = hash.Write([]byte(message)) // never fails
	now := metav1.NewTime(time.Now().UTC().Truncate(time.Second))
	e := &corev1.Event{
		ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprintf("%s.%x", have.Name, hash.Sum64()),
			Namespace: metav1.NamespaceDefault},
		InvolvedObject: corev1.ObjectReference{
			APIVersion: networkingv1.SchemeGroupVersion.String(), Kind: "ServiceCIDR", Name: have.Name, UID: have.UID,
			ResourceVersion: have.ResourceVersion,
		},
		Reason: "KubernetesDefaultServiceCIDRInconsistent", Message: message, Type: corev1.EventTypeWarning,
		Source: corev1.EventSource{Component: cidrController}, ReportingController: cidrController,
		FirstTimestamp: now, LastTimestamp: now, Count: 1,
	}
	_, err := events.GetConsistent(ctx, e.Namespace, e.Name)
	if !apierrors.IsNotFound(err) {
		return err
	}
	klog.InfoS("Services go on having IPs of the ranges that are stored, not of --service-cluster-ip-range", "stored",
		have.Spec.CIDRs, "flag", want)
	return create(asServer(ctx), kindOf[*corev1.Event]{Handle: events}, e)
}
