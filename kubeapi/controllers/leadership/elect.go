package leadership

import (
	"context"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"
)

// electedBy is the annotation of Leases with the elector of their holder.
const electedBy = "coordination.k8s.io/elected-by"

// elect reconciles a Lease, and returns when to retry; 0 means on the next event.
func (c *controller) elect(
	ctx context.Context, key types.NamespacedName, now time.Time,
) (again time.Duration, err error) {
	all, err := c.candidatesFor(key)
	if err != nil {
		return 0, err
	}
	if err := c.deleteExpired(ctx, all, now); err != nil {
		return 0, err
	}
	alive := validCandidates(all, now)
	if len(alive) == 0 {
		delete(c.rounds, key)
		return 0, nil
	}
	lease, err := c.lease(ctx, key)
	if err != nil {
		return 0, err
	}
	if s := strategyOf(alive); s != coordinationv1.OldestEmulationVersion {
		delete(c.rounds, key)
		return 0, c.setStrategy(ctx, key, lease, s)
	}
	if left := timeLeft(lease, now); left > 0 && (wants(lease.Spec.HolderIdentity, alive[0]) ||
		wants(lease.Spec.PreferredHolder, alive[0])) {
		delete(c.rounds, key)
		return left, nil
	}
	voters, wait, err := c.ping(ctx, key, alive, now)
	if err != nil || wait > 0 {
		return wait, err
	}
	delete(c.rounds, key)
	if len(voters) == 0 {
		return electionWindow, nil
	}
	if err := c.assign(ctx, key, lease, voters, now); err != nil {
		return 0, err
	}
	return c.durations.LeaseDuration, nil
}

func wants(name *string, c candidate) bool { return ptr.Deref(name, "") == c.Name }

func (c *controller) candidatesFor(key types.NamespacedName) ([]candidate, error) {
	objs, err := c.candidates.GetIndexer().ByIndex(byLease, key.String())
	if err != nil {
		return nil, err
	}
	var all []candidate
	for _, obj := range objs {
		if one, ok := obj.(candidate); ok {
			all = append(all, one)
		}
	}
	return all, nil
}

// deleteExpired deletes expired candidates.
func (c *controller) deleteExpired(ctx context.Context, all []candidate, now time.Time) error {
	for _, one := range all {
		if !expired(one, now) {
			continue
		}
		err := c.client.LeaseCandidates(one.Namespace).Delete(ctx, one.Name, metav1.DeleteOptions{
			Preconditions: &metav1.Preconditions{ResourceVersion: &one.ResourceVersion},
		})
		if err != nil && !apierrors.IsNotFound(err) {
			return err
		}
	}
	return nil
}

// lease returns the current Lease, nil if it does not exist.
func (c *controller) lease(ctx context.Context, key types.NamespacedName) (*coordinationv1.Lease, error) {
	l, err := c.client.Leases(key.Namespace).Get(ctx, key.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil, nil
	}
	return l, err
}

// ping pings the candidates. It returns those that have responded, the best first, and how long the others have
// left.
func (c *controller) ping(
	ctx context.Context, key types.NamespacedName, alive []candidate, now time.Time,
) (voters []candidate, wait time.Duration, err error) {
	began, going := c.rounds[key]
	if !going {
		began = now
		c.rounds[key] = began
	}
	for _, one := range alive {
		switch pinged := one.Spec.PingTime; {
		case pinged == nil || pinged.Time.Before(began.Truncate(time.Microsecond)):
			asked := one.DeepCopy()
			asked.Spec.PingTime = &metav1.MicroTime{Time: now}
			if _, err := c.client.LeaseCandidates(one.Namespace).Update(ctx, asked,
				metav1.UpdateOptions{}); err != nil {
				return nil, 0, err
			}
		case acknowledged(one):
			voters = append(voters, one)
		}
	}
	if len(voters) == len(alive) {
		return voters, 0, nil
	}
	return voters, max(0, electionWindow-now.Sub(began)), nil
}

// setStrategy sets the strategy of a Lease whose holder another controller elects.
func (c *controller) setStrategy(
	ctx context.Context, key types.NamespacedName, lease *coordinationv1.Lease,
	strategy coordinationv1.CoordinatedLeaseStrategy,
) error {
	leases := c.client.Leases(key.Namespace)
	if lease == nil {
		_, err := leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace},
			Spec:       coordinationv1.LeaseSpec{Strategy: &strategy},
		}, metav1.CreateOptions{})
		return err
	}
	if ptr.Deref(lease.Spec.Strategy, "") == strategy {
		return nil
	}
	next := lease.DeepCopy()
	next.Spec.Strategy = &strategy
	_, err := leases.Update(ctx, next, metav1.UpdateOptions{})
	return err
}

// assign makes the best of the voters the holder of a Lease, or the preferred holder while another candidate
// holds it.
func (c *controller) assign(
	ctx context.Context, key types.NamespacedName, lease *coordinationv1.Lease, voters []candidate, now time.Time,
) error {
	best, at, strategy := voters[0].Name, metav1.NewMicroTime(now), coordinationv1.OldestEmulationVersion
	leases := c.client.Leases(key.Namespace)
	if lease == nil {
		_, err := leases.Create(ctx, &coordinationv1.Lease{
			ObjectMeta: metav1.ObjectMeta{Name: key.Name, Namespace: key.Namespace,
				Annotations: map[string]string{electedBy: leaseName}},
			Spec: coordinationv1.LeaseSpec{
				HolderIdentity: &best, LeaseDurationSeconds: ptr.To(int32(c.durations.LeaseDuration.Seconds())),
				LeaseTransitions: ptr.To(int32(0)),
				AcquireTime:      &at, RenewTime: &at, Strategy: &strategy,
			},
		}, metav1.CreateOptions{})
		return err
	}
	next := lease.DeepCopy()
	metav1.SetMetaDataAnnotation(&next.ObjectMeta, electedBy, leaseName)
	s := &next.Spec
	s.Strategy = &strategy
	switch {
	case timeLeft(lease, now) == 0:
		s.HolderIdentity, s.PreferredHolder, s.AcquireTime, s.RenewTime = &best, nil, &at, &at
		s.LeaseDurationSeconds = ptr.To(int32(c.durations.LeaseDuration.Seconds()))
		s.LeaseTransitions = ptr.To(ptr.Deref(s.LeaseTransitions, 0) + 1)
	case wants(s.HolderIdentity, voters[0]):
		s.PreferredHolder = nil
	default:
		s.PreferredHolder = &best
	}
	_, err := leases.Update(ctx, next, metav1.UpdateOptions{})
	return err
}
