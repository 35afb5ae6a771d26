package servicecidr

import (
	"context"
	"net/netip"
	"slices"
	"time"

	networkingv1 "k8s.io/api/networking/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	apimeta "k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	networkingv1client "k8s.io/client-go/kubernetes/typed/networking/v1"

	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/group"
)

const (
	workers   = 1 // deletions depend on all ServiceCIDRs
	finalizer = "networking.k8s.io/service-cidr-finalizer"
	// grace is the minimum time between the deletion of a ServiceCIDR and its removal. Other API servers may not
	// have seen the deletion yet, and allocate an IP.
	grace = 10 * time.Second
	// batchDelay is the delay in which further changes are batched.
	batchDelay = 100 * time.Millisecond
)

type controller struct {
	env    *control.Env
	client networkingv1client.ServiceCIDRInterface
	queue  *control.Queue[string]
	held   control.Keys // deleted ServiceCIDRs that wait for IPs
}

// New returns the controller.
func New(e *control.Env) (worker.Runner, error) {
	client, err := networkingv1client.NewForConfig(e.As("service-cidrs-controller"))
	if err != nil {
		return nil, err
	}
	c := &controller{env: e, client: client.ServiceCIDRs()}
	c.queue = control.NewQueue(e, "servicecidrs", workers, c.sync)
	e.Feed.On(group.ServiceCIDRs(e.Stores).Resource(), func(o *control.Object) {
		c.held.Set(control.KeyOf(o), false)
		c.release() // the IPs may be part of another range now
		if !o.Deleted() {
			c.queue.Add(o.Name)
		}
	})
	e.Feed.On(group.IPAddresses(e.Stores).Resource(), func(o *control.Object) {
		if o.Deleted() {
			c.release()
		}
	})
	return c.queue, nil
}

// AddFinalizer adds the finalizer that the controller adds to a new ServiceCIDR.
func AddFinalizer(c *networkingv1.ServiceCIDR) {
	c.Finalizers = append(c.Finalizers, finalizer)
	c.ManagedFields = append(c.ManagedFields, control.Written(networkingv1.SchemeGroupVersion.String(),
		`{"f:metadata":{"f:finalizers":{".":{},"v:\"`+finalizer+`\"":{}}}}`))
}

// release enqueues the waiting ServiceCIDRs.
func (c *controller) release() {
	for _, key := range c.held.Of("") {
		c.queue.AddAfter(key.Name, batchDelay)
	}
}

func (c *controller) sync(ctx context.Context, name string) error {
	cidr, err := group.ServiceCIDRs(c.env.Stores).GetCached(control.Reading(ctx), "", name)
	if err == nil {
		if cidr.DeletionTimestamp == nil {
			err = c.serve(ctx, cidr)
		} else if slices.Contains(cidr.Finalizers, finalizer) {
			err = c.removeFinalizer(ctx, cidr)
		}
	}
	if apierrors.IsNotFound(err) {
		return nil
	}
	return err
}

// serve adds the finalizer and the condition Ready.
func (c *controller) serve(ctx context.Context, cidr *networkingv1.ServiceCIDR) error {
	if !slices.Contains(cidr.Finalizers, finalizer) {
		cidr.Finalizers = append(cidr.Finalizers, finalizer)
		_, err := c.client.Update(ctx, cidr, metav1.UpdateOptions{})
		return err // the update enqueues it
	}
	if apimeta.FindStatusCondition(cidr.Status.Conditions, networkingv1.ServiceCIDRConditionReady) != nil {
		return nil
	}
	return c.setCondition(ctx, cidr, metav1.Condition{
		Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionTrue,
		Message: "Kubernetes Service CIDR is ready",
	})
}

// removeFinalizer removes the finalizer of a deleted ServiceCIDR, unless IPs depend on it.
func (c *controller) removeFinalizer(ctx context.Context, cidr *networkingv1.ServiceCIDR) error {
	c.held.Set(control.Key{Name: cidr.Name}, true) // notice deletions of IPs from here on
	held, err := group.IPAddresses(c.env.Stores).ListCached(control.Reading(ctx), "")
	if err != nil {
		return err
	}
	all, err := group.ServiceCIDRs(c.env.Stores).ListCached(control.Reading(ctx), "")
	if err != nil {
		return err
	}
	if orphans(cidr, all, held) {
		return c.setCondition(ctx, cidr, metav1.Condition{
			Type: networkingv1.ServiceCIDRConditionReady, Status: metav1.ConditionFalse,
			Reason: networkingv1.ServiceCIDRReasonTerminating,
			Message: "There are still IPAddresses referencing the ServiceCIDR, please remove them or create a new " +
				"ServiceCIDR",
		})
	}
	if wait := time.Until(cidr.DeletionTimestamp.Add(grace)); wait > 0 {
		c.queue.AddAfter(cidr.Name, wait)
		return nil
	}
	cidr.Finalizers = slices.DeleteFunc(cidr.Finalizers, func(f string) bool { return f == finalizer })
	_, err = c.client.Update(ctx, cidr, metav1.UpdateOptions{})
	return err
}

// setCondition sets a condition, if it changes.
func (c *controller) setCondition(
	ctx context.Context, cidr *networkingv1.ServiceCIDR, condition metav1.Condition,
) error {
	if !apimeta.SetStatusCondition(&cidr.Status.Conditions, condition) {
		return nil
	}
	_, err := c.client.UpdateStatus(ctx, cidr, metav1.UpdateOptions{})
	return err
}

// orphans reports whether an IP of a ServiceCIDR is in no other ServiceCIDR that remains.
func orphans(cidr *networkingv1.ServiceCIDR, all []*networkingv1.ServiceCIDR, held []*networkingv1.IPAddress) bool {
	return slices.ContainsFunc(held, func(a *networkingv1.IPAddress) bool {
		ip, err := netip.ParseAddr(a.Name)
		return err == nil && contains(cidr, ip) && !slices.ContainsFunc(all,
			func(other *networkingv1.ServiceCIDR) bool {
				return other.Name != cidr.Name && other.DeletionTimestamp == nil && contains(other, ip)
			})
	})
}

func contains(cidr *networkingv1.ServiceCIDR, ip netip.Addr) bool {
	return slices.ContainsFunc(cidr.Spec.CIDRs, func(text string) bool {
		r, err := netip.ParsePrefix(text)
		return err == nil && r.Contains(ip)
	})
}
