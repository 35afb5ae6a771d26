package node

import (
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// cluster is the graph as one would write it without counting: what exists, asked
// anew each time.
type cluster struct {
	pods    map[string]*corev1.Pod
	volumes map[string]*corev1.PersistentVolume
}

func (c *cluster) uses(node string, o object) bool {
	for _, p := range c.pods {
		_, mirror := p.Annotations[corev1.MirrorPodAnnotationKey]
		if p.Spec.NodeName == node && !mirror && slices.Contains(usesOf(p), o) {
			return true
		}
	}
	return false
}

func (c *cluster) reaches(node string, o object) bool {
	if c.uses(node, o) {
		return true
	}
	for _, v := range c.volumes {
		if v.Spec.ClaimRef != nil && o.kind == secret && slices.Contains(secretsOfVolume(v), name{o.namespace, o.name}) &&
			c.uses(node, object{claim, v.Spec.ClaimRef.Namespace, v.Spec.ClaimRef.Name}) {
			return true
		}
	}
	return false
}

// step reads a change of the cluster from three bytes, and makes it of both.
func (c *cluster) step(g *graph, what, which, how byte) {
	names := []string{"a", "b", "c"}
	own := names[which%3]
	if what&1 == 0 {
		v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: own}}
		if how&1 == 0 {
			v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "n", Name: names[how>>1%3]}
		}
		v.Spec.CSI = &corev1.CSIPersistentVolumeSource{NodeStageSecretRef: &corev1.SecretReference{Name: names[how>>3%3], Namespace: []string{"", "n", "m"}[how>>5%3]}}
		if what&2 == 0 {
			delete(c.volumes, own)
			g.remove(v)
			return
		}
		c.volumes[own] = v
		g.set(v)
		return
	}
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: own}, Spec: corev1.PodSpec{NodeName: []string{"", "x", "y"}[which>>2%3]}}
	source := corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: names[how%3]}}
	switch how >> 2 % 4 {
	case 1:
		source = corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: names[how%3]}}
	case 2:
		source = corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}
	}
	p.Spec.Volumes = []corev1.Volume{{Name: names[how>>4%3], VolumeSource: source}}
	if how>>6 == 3 {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: ""}
	}
	if what&2 == 0 {
		delete(c.pods, own)
		g.remove(p)
		return
	}
	c.pods[own] = p
	g.set(p)
}

// FuzzGraph compares the graph with the cluster that it was told of, after each
// change: a node must never reach, or lose, anything by the order of events.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{3, 4, 0, 2, 0, 0, 3, 5, 1, 1, 4, 0, 0, 0, 0})
	f.Add([]byte{3, 4, 4, 3, 5, 4, 3, 4, 0, 2, 1, 2, 3, 8, 9, 3, 4, 0xc4, 2, 0, 1, 2, 0, 0x2a})
	f.Add([]byte{3, 4, 8, 2, 1, 1, 2, 1, 6, 3, 4, 0x18, 1, 4, 0})
	f.Fuzz(func(t *testing.T, steps []byte) {
		g := &New().graph
		c := &cluster{pods: map[string]*corev1.Pod{}, volumes: map[string]*corev1.PersistentVolume{}}
		for ; len(steps) >= 3 && t.Context().Err() == nil; steps = steps[3:] {
			c.step(g, steps[0], steps[1], steps[2])
			for _, node := range []string{"x", "y"} {
				for _, k := range []kind{secret, claim} {
					for _, n := range []name{{"n", "a"}, {"n", "b"}, {"m", "c"}, {"n", "a-a"}, {"n", "b-c"}} {
						o := object{k, n.namespace, n.name}
						if got, want := g.reaches(node, o), c.reaches(node, o); got != want {
							t.Fatalf("%s reaches %v: %v, want %v", node, o, got, want)
						}
					}
				}
			}
		}
	})
}
