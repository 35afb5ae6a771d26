package nodeauthorizer

import (
	"context"
	"testing"

	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/types"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
)

func pod(name, node string) *corev1.Pod {
	claimName := "claimed"
	local := func(n string) corev1.LocalObjectReference { return corev1.LocalObjectReference{Name: n} }
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name},
		Spec: corev1.PodSpec{
			NodeName: node, ServiceAccountName: "sa",
			ImagePullSecrets: []corev1.LocalObjectReference{local("pull")},
			InitContainers: []corev1.Container{{EnvFrom: []corev1.EnvFromSource{
				{SecretRef: &corev1.SecretEnvSource{LocalObjectReference: local("envfrom")}},
			}}},
			Containers: []corev1.Container{{Env: []corev1.EnvVar{
				{ValueFrom: &corev1.EnvVarSource{SecretKeyRef: &corev1.SecretKeySelector{LocalObjectReference: local("env")}}},
				{ValueFrom: &corev1.EnvVarSource{ConfigMapKeyRef: &corev1.ConfigMapKeySelector{LocalObjectReference: local("env")}}},
			}}},
			Volumes: []corev1.Volume{
				{VolumeSource: corev1.VolumeSource{Secret: &corev1.SecretVolumeSource{SecretName: "vol"}}},
				{VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "pvc"}}},
				{Name: "e", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
				{VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{
					{Secret: &corev1.SecretProjection{LocalObjectReference: local("proj")}},
					{ConfigMap: &corev1.ConfigMapProjection{LocalObjectReference: local("proj")}},
				}}}},
			},
			ResourceClaims: []corev1.PodResourceClaim{{ResourceClaimName: &claimName}},
		},
	}
}

func volume() *corev1.PersistentVolume {
	return &corev1.PersistentVolume{
		ObjectMeta: metav1.ObjectMeta{Name: "pv"},
		Spec: corev1.PersistentVolumeSpec{
			ClaimRef: &corev1.ObjectReference{Namespace: "n", Name: "pvc"},
			PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{
				NodePublishSecretRef:       &corev1.SecretReference{Namespace: "s", Name: "publish"},
				ControllerPublishSecretRef: &corev1.SecretReference{Namespace: "s", Name: "controller"},
			}},
		},
	}
}

func ask(verb, group, resource, sub, namespace, name string) *authorizer.Attributes {
	return &authorizer.Attributes{User: &user.Info{Name: "system:node:a", Groups: []string{user.NodesGroup}},
		Verb: verb, APIGroup: group, Resource: resource, Subresource: sub, Namespace: namespace, Name: name, ResourceRequest: true}
}

func with(a *authorizer.Attributes, selector string) *authorizer.Attributes {
	a.FieldSelector = fields.ParseSelectorOrDie(selector).Requirements()
	return a
}

const unrelated = "no relationship found between node 'a' and this object"

func TestAuthorize(t *testing.T) {
	a := New(Features{})
	h := a.Handler()
	own := "a"
	mirror := pod("mirror", "a")
	mirror.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	mirror.Spec.ImagePullSecrets[0].Name = "mirrored"
	for _, o := range []any{
		pod("mine", "a"), pod("unscheduled", ""), mirror, volume(),
		&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "va"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "a"}},
		&storagev1.VolumeAttachment{ObjectMeta: metav1.ObjectMeta{Name: "vb"}, Spec: storagev1.VolumeAttachmentSpec{NodeName: "b"}},
		&resourcev1.ResourceSlice{ObjectMeta: metav1.ObjectMeta{Name: "slice"}, Spec: resourcev1.ResourceSliceSpec{NodeName: &own}},
	} {
		h.OnAdd(o, true)
	}
	for _, c := range []struct {
		attrs *authorizer.Attributes
		why   string // "" is allowed, "-" a refusal without a reason
	}{
		{ask("get", "", "secrets", "", "n", "pull"), ""},
		{ask("watch", "", "secrets", "", "n", "env"), ""},
		{ask("list", "", "secrets", "", "n", "envfrom"), ""},
		{ask("get", "", "secrets", "", "n", "vol"), ""},
		{ask("get", "", "secrets", "", "n", "proj"), ""},
		{ask("get", "", "secrets", "", "s", "publish"), ""},
		{ask("get", "", "secrets", "", "s", "controller"), unrelated},
		{ask("get", "", "secrets", "", "n", "mirrored"), unrelated},
		{ask("get", "", "secrets", "", "m", "pull"), unrelated},
		{ask("list", "", "secrets", "", "n", ""), "No Object name found"},
		{ask("list", "", "secrets", "", "", ""), "can only read namespaced object of this type"},
		{ask("update", "", "secrets", "", "n", "vol"), "can only read resources of this type"},
		{ask("get", "", "configmaps", "", "n", "env"), ""},
		{ask("get", "", "configmaps", "", "n", "proj"), ""},
		{ask("get", "", "configmaps", "", "n", "vol"), unrelated},
		{ask("get", "", "persistentvolumeclaims", "", "n", "pvc"), ""},
		{ask("get", "", "persistentvolumeclaims", "", "n", "mine-e"), ""},
		{ask("list", "", "persistentvolumeclaims", "", "n", ""), "can only get individual resources of this type"},
		{ask("patch", "", "persistentvolumeclaims", "status", "n", "pvc"), ""},
		{ask("patch", "", "persistentvolumeclaims", "status", "n", "other"), unrelated},
		{ask("get", "", "persistentvolumes", "", "", "pv"), ""},
		{ask("get", "", "persistentvolumes", "", "", "pw"), unrelated},
		{ask("get", "storage.k8s.io", "volumeattachments", "", "", "va"), ""},
		{ask("get", "storage.k8s.io", "volumeattachments", "", "", "vb"), unrelated},
		{ask("get", "storage.k8s.io", "volumeattachments", "status", "", "va"), "cannot get subresource"},
		{ask("get", "resource.k8s.io", "resourceclaims", "", "n", "claimed"), ""},
		{ask("update", "resource.k8s.io", "resourceslices", "", "", "slice"), ""},
		{ask("create", "resource.k8s.io", "resourceslices", "", "", ""), ""},
		{with(ask("list", "resource.k8s.io", "resourceslices", "", "", ""), "spec.nodeName=a"), ""},
		{ask("deletecollection", "resource.k8s.io", "resourceslices", "", "", ""), "can only list/watch/deletecollection resourceslices with nodeName field selector"},
		{ask("create", "", "serviceaccounts", "token", "n", "sa"), ""},
		{ask("create", "", "serviceaccounts", "token", "n", "free"), unrelated},
		{ask("create", "", "serviceaccounts", "", "n", "sa"), "can only create token subresource of serviceaccount"},
		{ask("list", "", "serviceaccounts", "", "n", ""), "can only create tokens for individual service accounts"},
		{ask("get", "", "serviceaccounts", "token", "n", "sa"), "can only create tokens for individual service accounts"},
		{ask("get", "", "serviceaccounts", "", "n", "sa"), ""},
		{ask("get", "", "nodes", "", "", "a"), ""},
		{ask("list", "", "nodes", "", "", "b"), "node 'a' cannot read 'b', only its own Node object"},
		{ask("watch", "", "nodes", "", "", ""), "node 'a' cannot read all nodes, only its own Node object"},
		{ask("patch", "", "nodes", "status", "", "a"), ""},
		{ask("get", "", "nodes", "status", "", "a"), "-"},
		{ask("delete", "", "nodes", "", "", "a"), "-"},
		{ask("get", "", "pods", "", "n", "mine"), ""},
		{ask("get", "", "pods", "", "n", "mirror"), ""},
		{ask("get", "", "pods", "", "n", "unscheduled"), unrelated},
		{with(ask("list", "", "pods", "", "", ""), "spec.nodeName=a"), ""},
		{with(ask("list", "", "pods", "", "", ""), "spec.nodeName!=a"), "can only list/watch pods with spec.nodeName field selector"},
		{ask("list", "", "pods", "", "n", "mine"), ""},
		{ask("watch", "", "pods", "", "n", "unscheduled"), unrelated},
		{ask("get", "", "pods", "log", "n", "mine"), "-"},
		{ask("update", "", "pods", "status", "n", "mine"), ""},
		{ask("create", "coordination.k8s.io", "leases", "", "kube-node-lease", ""), ""},
		{ask("get", "coordination.k8s.io", "leases", "", "kube-node-lease", "b"), "can only access node lease with the same name as the requesting node"},
		{ask("get", "coordination.k8s.io", "leases", "", "n", "a"), "can only access leases in the \"kube-node-lease\" system namespace"},
		{ask("list", "coordination.k8s.io", "leases", "", "n", ""), "can only get, create, update, patch, or delete a node lease"},
		{ask("get", "storage.k8s.io", "csinodes", "", "", "a"), ""},
		{ask("get", "storage.k8s.io", "csinodes", "", "", "b"), "can only access CSINode with the same name as the requesting node"},
		{ask("create", "", "tokenreviews", "", "", ""), "-"},
		{ask("create", "authentication.k8s.io", "tokenreviews", "", "", ""), ""},
		{&authorizer.Attributes{User: ask("", "", "", "", "", "").User, Verb: "get", Path: "/metrics"}, "-"},
		{&authorizer.Attributes{User: &user.Info{Name: "system:node:a"}, Verb: "get", Resource: "nodes", Name: "a", ResourceRequest: true}, "-"},
	} {
		decision, reason, err := a.Authorize(context.Background(), c.attrs)
		want := c.why
		if want == "-" {
			want = ""
		}
		if (decision == authorizer.Allow) != (c.why == "") || reason != want || err != nil {
			t.Errorf("%s %s/%s %s/%s: %v %q, want %q", c.attrs.Verb, c.attrs.Resource, c.attrs.Subresource, c.attrs.Namespace, c.attrs.Name, decision, reason, c.why)
		}
	}
}

// Resources that a feature gate adds are decided with it, and left to others without.
func TestAuthorizeFeatures(t *testing.T) {
	const group = "certificates.k8s.io"
	requests := "podcertificaterequests"
	for _, f := range []Features{{}, {TrustBundles: true, PodCertificates: true}} {
		a := New(f)
		h := a.Handler()
		for request, node := range map[string]string{"mine": "a", "theirs": "b", "gone": "a"} {
			h.OnAdd(&certificatesv1beta1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: request},
				Spec: certificatesv1beta1.PodCertificateRequestSpec{NodeName: types.NodeName(node)}}, true)
		}
		h.OnDelete(&certificatesv1beta1.PodCertificateRequest{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: "gone"}})
		for _, c := range []struct {
			attrs *authorizer.Attributes
			why   string // "" is allowed, "-" a refusal without a reason
		}{
			{ask("create", group, requests, "", "n", ""), ""},
			{ask("get", group, requests, "", "n", "mine"), ""},
			{ask("get", group, requests, "", "n", "theirs"), unrelated},
			{ask("get", group, requests, "", "n", "gone"), unrelated},
			{ask("get", group, requests, "", "mine", "n"), unrelated},
			{ask("get", group, requests, "", "n", ""), "No Object name found"},
			{with(ask("list", group, requests, "", "", ""), "spec.nodeName=a"), ""},
			{with(ask("watch", group, requests, "", "n", ""), "spec.nodeName=b"), "can only list/watch podcertificaterequests with nodeName field selector"},
			{ask("update", group, requests, "", "n", "mine"), "nodes may not update podcertificaterequests"},
			{ask("get", group, requests, "status", "n", "mine"), "nodes may not access the status subresource of PodCertificateRequests"},
			{ask("watch", group, "clustertrustbundles", "", "", ""), ""},
			{ask("create", group, "clustertrustbundles", "", "", ""), "-"},
			{ask("get", group, "clustertrustbundles", "status", "", "x"), "-"},
		} {
			decision, reason, err := a.Authorize(context.Background(), c.attrs)
			want := c.why
			if want == "-" || !f.PodCertificates {
				want = ""
			}
			if (decision == authorizer.Allow) != (c.why == "" && f.PodCertificates) || reason != want || err != nil {
				t.Errorf("%+v: %s %s/%s %s/%s: %v %q, want %q", f, c.attrs.Verb, c.attrs.Resource, c.attrs.Subresource, c.attrs.Namespace, c.attrs.Name, decision, reason, c.why)
			}
		}
	}
}

func TestForgets(t *testing.T) {
	a := New(Features{})
	h := a.Handler()
	h.OnAdd(pod("one", "a"), true)
	h.OnAdd(pod("two", "a"), true)
	h.OnAdd(volume(), true)
	may := func() bool {
		d, _, _ := a.Authorize(context.Background(), ask("get", "", "secrets", "", "s", "publish"))
		return d == authorizer.Allow
	}
	h.OnDelete(pod("one", "a"))
	if !may() {
		t.Error("the other pod still uses it")
	}
	h.OnUpdate(nil, pod("two", "b"))
	if may() {
		t.Error("no pod of the node uses it")
	}
	h.OnDelete(pod("two", "b"))
	h.OnDelete(volume())
	if len(a.graph.uses)+len(a.graph.pods)+len(a.graph.volumes)+len(a.graph.volumesOf) != 0 {
		t.Errorf("something is left: %+v", a.graph.uses)
	}
}
