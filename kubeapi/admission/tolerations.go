package admission

import (
	"slices"

	corev1 "k8s.io/api/core/v1"
)

// mergeTolerations returns the tolerations of both lists, without those that another one covers. If second is
// empty, it returns first unchanged.
func mergeTolerations(first, second []corev1.Toleration) []corev1.Toleration {
	if len(second) == 0 {
		return first
	}
	all := append(slices.Clone(first), second...)
	set := newTolerationSet(all)
	var out []corev1.Toleration
	for i := range all {
		// Of equal tolerations the first one remains.
		if by := set.covering(&all[i]); by == i {
			out = append(out, all[i])
		}
	}
	return out
}

// taints identifies the taints that tolerations of any duration tolerate. Exists has no value, and all other
// operators are normalized to Equal.
type taints = corev1.Toleration

func taintsOf(t *corev1.Toleration) taints {
	if t.Operator == corev1.TolerationOpExists {
		return taints{Key: t.Key, Operator: t.Operator, Effect: t.Effect}
	}
	return taints{Key: t.Key, Operator: corev1.TolerationOpEqual, Value: t.Value, Effect: t.Effect}
}

// tolerationSet finds the toleration of a list that covers another one, in constant time, because clients choose
// the length of the list.
type tolerationSet map[taints]longest

// longest is the first of the tolerations with the longest duration for the same taints.
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

// covering returns the index of the broadest toleration that covers t; -1 if there is none.
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

// lasts reports whether a duration is at least as long as another one; nil is unlimited.
func lasts(seconds, other *int64) bool {
	return seconds == nil || other != nil && *other <= *seconds
}
