package admission

import (
	"math/rand/v2"
	"reflect"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/utils/ptr"
)

// coversAll reports whether one toleration tolerates everything that another one does.
func coversAll(by, t *corev1.Toleration) bool {
	switch exists := by.Operator == corev1.TolerationOpExists; {
	case by.Key != t.Key && (by.Key != "" || !exists), by.Effect != t.Effect && by.Effect != "":
		return false
	case by.TolerationSeconds != nil && (t.TolerationSeconds == nil || *t.TolerationSeconds > *by.TolerationSeconds):
		return false
	default:
		return exists || t.Operator != corev1.TolerationOpExists && by.Value == t.Value
	}
}

func pick[T any](of ...T) T { return of[rand.IntN(len(of))] }

// The merged list contains the tolerations that no other one covers, and the first of equal ones.
func TestMergedTolerations(t *testing.T) {
	for range 2000 {
		all := make([]corev1.Toleration, 1+rand.IntN(6))
		for i := range all {
			all[i] = corev1.Toleration{
				Key: pick("", "a", "b"), Operator: pick(corev1.TolerationOpExists, corev1.TolerationOpEqual, ""),
				Value:             pick("", "v"),
				Effect:            pick("", corev1.TaintEffectNoExecute),
				TolerationSeconds: pick(nil, ptr.To[int64](5), ptr.To[int64](7)),
			}
		}
		var want []corev1.Toleration
		for i := range all {
			redundant := false
			for j := range all {
				redundant = redundant || i != j && coversAll(&all[j], &all[i]) &&
					(j < i || !coversAll(&all[i], &all[j]))
			}
			if !redundant {
				want = append(want, all[i])
			}
		}
		n := rand.IntN(len(all))
		if got := mergeTolerations(all[:n], all[n:]); !reflect.DeepEqual(got, want) {
			t.Fatalf("of %v got %v, want %v", all, got, want)
		}
		set := newTolerationSet(all[n:])
		for i := range all {
			covered := false
			for j := n; j < len(all); j++ {
				covered = covered || coversAll(&all[j], &all[i])
			}
			if got := set.covering(&all[i]) >= 0; got != covered {
				t.Fatalf("%v is covered by %v: %v, want %v", all[i], all[n:], got, covered)
			}
		}
	}
}
