package leadership

import (
	"testing"
	"time"

	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

var now = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func one(name, binary, emulation string, renewed time.Duration) candidate {
	at := metav1.NewMicroTime(now.Add(-renewed))
	return &coordinationv1beta1.LeaseCandidate{
		ObjectMeta: metav1.ObjectMeta{Name: name},
		Spec: coordinationv1beta1.LeaseCandidateSpec{LeaseName: "l", BinaryVersion: binary, EmulationVersion: emulation,
			Strategy: coordinationv1.OldestEmulationVersion, RenewTime: &at},
	}
}

func TestLiving(t *testing.T) {
	for _, c := range []struct {
		all  []candidate
		want string
	}{
		{[]candidate{one("a", "1.36.0", "1.36.0", 0), one("b", "1.36.0", "1.35.0", 0)}, "b"},
		{[]candidate{one("a", "1.36.0", "1.35.0", 0), one("b", "1.35.9", "1.35.0", 0)}, "b"},
		{[]candidate{one("b", "1.35.10", "1.35.0", 0), one("a", "1.35.10", "1.35.0", 0)}, "a"},
		{[]candidate{one("a", "1.9.0", "1.9.0", 0), one("b", "1.10.0", "1.10.0", 0)}, "a"},
		{[]candidate{one("a", "1.35.0", "1.35.0", time.Hour), one("b", "1.36.0", "1.36.0", 0)}, "b"},
		{[]candidate{one("a", "1.36.0", "new", 0), one("b", "1.36.0", "1.36.0", 0)}, "b"},
	} {
		if got := validCandidates(c.all, now); got[0].Name != c.want {
			t.Errorf("%s is the best, want %s", got[0].Name, c.want)
		}
	}
	if got := validCandidates([]candidate{one("a", "1.35.0", "1.35.0", time.Hour)}, now); len(got) != 0 {
		t.Errorf("%s lives", got[0].Name)
	}
}

func TestStrategyIsThatOfTheNewest(t *testing.T) {
	old, young := one("a", "1.35.0", "1.35.0", 0), one("b", "1.36.0", "1.35.0", 0)
	old.Spec.Strategy = "Other"
	if s := strategyOf([]candidate{old, young}); s != coordinationv1.OldestEmulationVersion {
		t.Error(s)
	}
}
