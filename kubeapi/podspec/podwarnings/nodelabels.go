package podwarnings

import (
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/sets"
	"k8s.io/apimachinery/pkg/util/validation/field"
)

// oldNodeLabels are labels of nodes with what came after them.
var oldNodeLabels = map[string]string{
	"beta.kubernetes.io/arch":                  "deprecated since v1.14; use \"kubernetes.io/arch\" instead",
	"beta.kubernetes.io/os":                    "deprecated since v1.14; use \"kubernetes.io/os\" instead",
	"failure-domain.beta.kubernetes.io/region": "deprecated since v1.17; use \"topology.kubernetes.io/region\" instead",
	"failure-domain.beta.kubernetes.io/zone":   "deprecated since v1.17; use \"topology.kubernetes.io/zone\" instead",
	"node-role.kubernetes.io/master":           "use \"node-role.kubernetes.io/control-plane\" instead",
	"beta.kubernetes.io/instance-type":         "deprecated since v1.17; use \"node.kubernetes.io/instance-type\" instead",
}

// NodeSelector returns warnings about the labels of nodes that a RuntimeClass selects. They do not name the label.
func NodeSelector(selector map[string]string, path *field.Path) []string {
	w := &warner{}
	for _, label := range sets.List(sets.KeySet(selector)) {
		w.nodeLabel(label, path)
	}
	return w.texts
}

// Topologies returns warnings about the labels of nodes in a StorageClass.
func Topologies(terms []corev1.TopologySelectorTerm, path *field.Path) []string {
	w := &warner{}
	for i := range terms {
		for k := range terms[i].MatchLabelExpressions {
			w.nodeLabel(terms[i].MatchLabelExpressions[k].Key,
				path.Index(i).Child("matchLabelExpressions").Index(k).Child("key"))
		}
	}
	return w.texts
}

// NodeTopology returns warnings about the labels of nodes in a CSIStorageCapacity. s may be nil.
func NodeTopology(s *metav1.LabelSelector, path *field.Path) []string {
	if s == nil {
		return nil
	}
	w := &warner{}
	for i := range s.MatchExpressions {
		w.nodeLabelIs(s.MatchExpressions[i].Key, path.Child("matchExpressions").Index(i).Child("key"))
	}
	for _, label := range sets.List(sets.KeySet(s.MatchLabels)) {
		w.nodeLabel(label, path.Child("matchLabels", label))
	}
	return w.texts
}

// nodeLabel warns of a label at path that has a successor.
func (w *warner) nodeLabel(label string, path *field.Path) {
	if msg, ok := oldNodeLabels[label]; ok {
		w.say("%s: %s", path, msg)
	}
}

// nodeLabelIs warns as nodeLabel, and names the label.
func (w *warner) nodeLabelIs(label string, path *field.Path) {
	if msg, ok := oldNodeLabels[label]; ok {
		w.say("%s: %s is %s", path, label, msg)
	}
}
