package leadership

import (
	"cmp"
	"slices"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	"k8s.io/apimachinery/pkg/util/version"
	"k8s.io/utils/ptr"
)

type candidate = *coordinationv1beta1.LeaseCandidate

// candidateLife is how long a candidate is valid without renewal.
const candidateLife = 30 * time.Minute

// validCandidates returns the valid candidates, the best first.
func validCandidates(all []candidate, now time.Time) []candidate {
	alive := slices.DeleteFunc(slices.Clone(all), func(c candidate) bool { return expired(c, now) })
	slices.SortFunc(alive, compare)
	return alive
}

// expired reports whether a candidate has expired.
func expired(c candidate, now time.Time) bool {
	last := c.CreationTimestamp.Time
	if c.Spec.RenewTime != nil {
		last = c.Spec.RenewTime.Time
	}
	return now.Sub(last) > candidateLife
}

// compare orders candidates by the strategy OldestEmulationVersion: by emulation version, binary version, and age,
// each the oldest first.
func compare(a, b candidate) int {
	return cmp.Or(
		compareVersions(a.Spec.EmulationVersion, b.Spec.EmulationVersion),
		compareVersions(a.Spec.BinaryVersion, b.Spec.BinaryVersion),
		a.CreationTimestamp.Compare(b.CreationTimestamp.Time),
		cmp.Compare(a.Name, b.Name),
	)
}

// compareVersions compares versions; invalid versions are greater than all others.
func compareVersions(a, b string) int {
	x, errX := version.ParseGeneric(a)
	y, errY := version.ParseGeneric(b)
	switch {
	case errX != nil && errY != nil:
		return cmp.Compare(a, b)
	case errX != nil:
		return 1
	case errY != nil:
		return -1
	case x.LessThan(y):
		return -1
	case y.LessThan(x):
		return 1
	}
	return 0
}

// strategyOf returns the strategy of the candidate with the newest binary; all must not be empty.
func strategyOf(all []candidate) coordinationv1.CoordinatedLeaseStrategy {
	newest := slices.MaxFunc(all, func(a, b candidate) int {
		return compareVersions(a.Spec.BinaryVersion,
			b.Spec.BinaryVersion)
	})
	return newest.Spec.Strategy
}

// timeLeft returns how long a Lease is held; 0 if it has no holder.
func timeLeft(l *coordinationv1.Lease, now time.Time) time.Duration {
	if l == nil || ptr.Deref(l.Spec.HolderIdentity, "") == "" || l.Spec.RenewTime == nil {
		return 0
	}
	return max(0, l.Spec.RenewTime.Add(time.Duration(ptr.Deref(l.Spec.LeaseDurationSeconds, 0))*time.Second).Sub(now))
}

// acknowledged reports whether a candidate has renewed since its ping.
func acknowledged(c candidate) bool {
	return c.Spec.PingTime != nil && c.Spec.RenewTime != nil && !c.Spec.RenewTime.Before(c.Spec.PingTime)
}
