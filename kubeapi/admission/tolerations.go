package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// mergedTolerations are the tolerations of both lists, without those that another one covers; a
// list to which none are added stays as it is.
func mergedTolerations(first, second []corev1.Toleration) []corev1.Toleration {
	if len(second) == 0 {
		return first
	}
	all := append(slices.Clone(first), second...)
	set := newTolerationSet(all)
	var out []corev1.Toleration
	for i := range all {
		// Of those that are equal the first one stays.
		if by := set.covering(&all[i]); by == i {
			out = append(out, all[i])
		}
	}
	return out
}

// taints are those that tolerations of any duration tolerate, as a toleration without seconds: what Exists
// has no value, and all other operators are Equal.
type taints = corev1.Toleration

func taintsOf(t *corev1.Toleration) taints {
	if t.Operator == corev1.TolerationOpExists {
		return taints{Key: t.Key, Operator: t.Operator, Effect: t.Effect}
	}
	return taints{Key: t.Key, Operator: corev1.TolerationOpEqual, Value: t.Value, Effect: t.Effect}
}

// tolerationSet finds the toleration of a list that covers another one. Its cost does not grow with
// the list, which clients choose.
type tolerationSet map[taints]longest

// longest is the first of the tolerations of the same taints that last longest.
type longest struct {
	index   int
	seconds *int64
}

func newTolerationSet(list []corev1.Toleration) tolerationSet {
	set := make(tolerationSet, len(list))
	for i := range list {
		same, seconds := taintsOf(&list[i]), list[i].TolerationSeconds
		if have, ok := set[same]; !ok || !lasts(have.seconds, seconds) {
			set[same] = longest{i, seconds}
		}
	}
	return set
}

// covering returns the index of a toleration that tolerates all that t does, the one of most
// taints; -1 if there is none.
func (s tolerationSet) covering(t *corev1.Toleration) int {
	anyKey := taints{Operator: corev1.TolerationOpExists}
	anyValue := taints{Key: t.Key, Operator: corev1.TolerationOpExists}
	own := taintsOf(t)
	for _, wider := range []taints{anyKey, anyValue, own} {
		for _, effect := range []corev1.TaintEffect{"", t.Effect} {
			wider.Effect = effect
			if by, ok := s[wider]; ok && lasts(by.seconds, t.TolerationSeconds) {
				return by.index
			}
		}
	}
	return -1
}

// lasts reports whether a toleration lasts as long as another one; without seconds it lasts for ever.
func lasts(seconds, other *int64) bool {
	return seconds == nil || other != nil && *other <= *seconds
}
