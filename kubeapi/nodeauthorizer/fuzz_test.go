package nodeauthorizer

import (
	"context"
	"fmt"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

// FuzzGraph applies a history of pods and volumes and compares what each node may
// read with what the objects that are left say. Each byte is a step: what, which
// object, on which node.
func FuzzGraph(f *testing.F) {
	f.Add([]byte{0, 1, 2, 3, 64, 65, 128, 129, 192, 193})
	f.Add([]byte{0x00, 0x40, 0x80, 0xc0, 0x15, 0x55, 0x95, 0xd5, 0xff})
	f.Fuzz(func(t *testing.T, history []byte) {
		a := New(Features{})
		handler := a.Handler()
		pods, volumes := map[int]*corev1.Pod{}, map[int]*corev1.PersistentVolume{}
		for _, step := range history {
			which, where := int(step>>2&3), int(step>>4&3)
			switch step & 3 {
			case 0, 1:
				pod := podOf(which, where, step&1 != 0)
				handler.OnAdd(pod, false)
				pods[which] = pod
			case 2:
				volume := volumeOf(which, where)
				handler.OnAdd(volume, false)
				volumes[which] = volume
			case 3:
				if where&1 == 0 && pods[which] != nil {
					handler.OnDelete(pods[which])
					delete(pods, which)
				} else if volumes[which] != nil {
					handler.OnDelete(volumes[which])
					delete(volumes, which)
				}
			}
		}
		for node := range 4 {
			for object := range 4 {
				compare(t, a, pods, volumes, node, object)
			}
		}
	})
}

func compare(t *testing.T, a *Authorizer, pods map[int]*corev1.Pod, volumes map[int]*corev1.PersistentVolume, node, object int) {
	t.Helper()
	var direct, viaVolume bool
	for _, p := range pods {
		if p.Spec.NodeName != fmt.Sprint("node", node) || len(p.Annotations) > 0 {
			continue
		}
		direct = direct || p.Spec.Volumes[0].Secret.SecretName == fmt.Sprint("secret", object)
		for _, v := range volumes {
			used := v.Spec.ClaimRef.Name == p.Spec.Volumes[1].PersistentVolumeClaim.ClaimName
			viaVolume = viaVolume || used && v.Spec.CSI.NodeStageSecretRef.Name == fmt.Sprint("secret", object)
		}
	}
	name := fmt.Sprint("node", node)
	decision, _, err := a.Authorize(context.Background(), &authorizer.Attributes{
		User: &user.Info{Name: userPrefix + name, Groups: []string{user.NodesGroup}}, Verb: "get", Resource: "secrets", Namespace: "n", Name: fmt.Sprint("secret", object), ResourceRequest: true,
	})
	if want := direct || viaVolume; (decision == authorizer.Allow) != want || err != nil {
		t.Fatalf("node%d, secret%d: %v %v, want %v", node, object, decision, err, want)
	}
}

// podOf uses a secret and a claim that depend on its number; a mirror pod gives its
// node nothing.
func podOf(number, node int, mirror bool) *corev1.Pod {
	p := &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: fmt.Sprint("pod", number)}}
	p.Spec.NodeName = fmt.Sprint("node", node)
	p.Spec.Volumes = []corev1.Volume{
		{Name: "s", VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: fmt.Sprint("secret", number)}}},
		{Name: "c", VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: fmt.Sprint("claim", number)}}},
	}
	if mirror {
		p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	}
	return p
}

// volumeOf is bound to a claim and needs a secret of another number.
func volumeOf(number, claim int) *corev1.PersistentVolume {
	v := &corev1.PersistentVolume{ObjectMeta: metav1.ObjectMeta{Name: fmt.Sprint("volume", number)}}
	v.Spec.ClaimRef = &corev1.ObjectReference{Namespace: "n", Name: fmt.Sprint("claim", claim)}
	v.Spec.CSI = &corev1.CSIPersistentVolumeSource{NodeStageSecretRef: &corev1.SecretReference{Namespace: "n", Name: fmt.Sprint("secret", (number+1)%4)}}
	return v
}
