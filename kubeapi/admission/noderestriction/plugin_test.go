package noderestriction

import (
	"context"
	"reflect"
	"strings"
	"testing"

	authenticationv1 "k8s.io/api/authentication/v1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	policyv1 "k8s.io/api/policy/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/admission/admissiontest"
	"triplane.dev/kubeapi/group"
)

func restriction(authz authorizer.Authorizer) *Plugin { return New(testStores(), authz, Limits{}) }

func nodeUser(name string) *user.Info {
	return &user.Info{Name: "system:node:" + name, Groups: []string{user.NodesGroup}}
}

func onNode(name, node, uid string) *corev1.Pod {
	return &corev1.Pod{ObjectMeta: metav1.ObjectMeta{Namespace: "n", Name: name, UID: types.UID(uid)},
		Spec: corev1.PodSpec{NodeName: node}}
}

func testStores() *group.Stores {
	stores := group.NewStores()
	projecting := onNode("projecting", "a", "p")
	projecting.Spec.Volumes = []corev1.Volume{{Name: "t",
		VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{
			Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{Audience: "vault"}}}}}}}
	mounting := onNode("mounting", "a", "c")
	mounting.Spec.Volumes = []corev1.Volume{
		{Name: "t",
			VolumeSource: corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}}}}}},
		{Name: "p",
			VolumeSource: corev1.VolumeSource{PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "claim"}}},
		{Name: "e", VolumeSource: corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}}},
	}
	pods := admissiontest.Objects{"n/mine": onNode("mine", "a", "m"), "n/theirs": onNode("theirs", "b", "t"),
		"n/projecting": projecting, "n/mounting": mounting}
	for name, source := range map[string]corev1.VolumeSource{
		"unclaimed": {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "gone"}},
		"driven":    {CSI: &corev1.CSIVolumeSource{Driver: "gone"}},
		"migrated":  {AzureFile: &corev1.AzureFileVolumeSource{}},
		"claiming":  {PersistentVolumeClaim: &corev1.PersistentVolumeClaimVolumeSource{ClaimName: "migrated"}},
	} {
		pod := onNode(name, "a", name)
		volume(source)(pod)
		pods["n/"+name] = pod
	}
	for name, pod := range map[string]*corev1.Pod{"certified": onNode("certified", "a", "m"),
		"elsewhere": onNode("elsewhere", "b", "m"), "mirrored": mirror(nil)} {
		pod.UID, pod.Spec.ServiceAccountName = "m", "sa"
		projected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{SignerName: "e.com/a"}})(pod)
		pods["n/"+name] = pod
	}
	stores.Put(corev1.Resource("serviceaccounts"), admissiontest.Objects{"n/sa": &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{UID: "s"}}}.Resource())
	stores.Put(corev1.Resource("pods"), pods.Resource())
	claim := func(volume string) *corev1.PersistentVolumeClaim {
		return &corev1.PersistentVolumeClaim{Spec: corev1.PersistentVolumeClaimSpec{VolumeName: volume}}
	}
	stores.Put(corev1.Resource("persistentvolumeclaims"), admissiontest.Objects{"n/claim": claim("one"), "n/mounting-e": claim("two"), "n/other": claim("three"), "n/migrated": claim("disk")}.Resource())
	drivers, volumes := admissiontest.Objects{}, admissiontest.Objects{}
	for name, driver := range map[string]string{"one": "persistent", "two": "ephemeral", "three": "other"} {
		volumes[name] = &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{CSI: &corev1.CSIPersistentVolumeSource{Driver: driver}}}}
		drivers[driver] = &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "for-" + driver}}}}
	}
	volumes["disk"] = &corev1.PersistentVolume{Spec: corev1.PersistentVolumeSpec{PersistentVolumeSource: corev1.PersistentVolumeSource{AzureDisk: &corev1.AzureDiskVolumeSource{}}}}
	for _, driver := range []string{"disk.csi.azure.com", "file.csi.azure.com"} {
		drivers[driver] = &storagev1.CSIDriver{Spec: storagev1.CSIDriverSpec{TokenRequests: []storagev1.TokenRequest{{Audience: "azure"}}}}
	}
	stores.Put(corev1.Resource("persistentvolumes"), volumes.Resource())
	stores.Put(schema.GroupResource{Group: storagev1.GroupName, Resource: "csidrivers"}, drivers.Resource())
	stores.Put(corev1.Resource("nodes"), admissiontest.Objects{"a": &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", UID: "na"}}}.Resource())
	return stores
}

func mirror(change func(*corev1.Pod)) *corev1.Pod {
	p := onNode("mirror", "a", "")
	p.Annotations = map[string]string{corev1.MirrorPodAnnotationKey: "x"}
	p.OwnerReferences = []metav1.OwnerReference{{APIVersion: "v1", Kind: "Node", Name: "a", UID: "na",
		Controller: ptr.To(true)}}
	if change != nil {
		change(p)
	}
	return p
}

// certificate returns a request of node a for the pod "certified".
func certificate(
	change func(*certificatesv1beta1.PodCertificateRequestSpec),
) *certificatesv1beta1.PodCertificateRequest {
	r := &certificatesv1beta1.PodCertificateRequest{Spec: certificatesv1beta1.PodCertificateRequestSpec{
		PodName: "certified", PodUID: "m", ServiceAccountName: "sa", ServiceAccountUID: "s", NodeName: "a",
		NodeUID: "na", SignerName: "e.com/a",
	}}
	if change != nil {
		change(&r.Spec)
	}
	return r
}

func volume(source corev1.VolumeSource) func(*corev1.Pod) {
	return func(p *corev1.Pod) { p.Spec.Volumes = []corev1.Volume{{Name: "v", VolumeSource: source}} }
}

func projected(p corev1.VolumeProjection) func(*corev1.Pod) {
	return volume(corev1.VolumeSource{Projected: &corev1.ProjectedVolumeSource{Sources: []corev1.VolumeProjection{p}}})
}

func tokenFor(pod, uid string, audiences ...string) *authenticationv1.TokenRequest {
	return &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{Audiences: audiences,
		BoundObjectRef: &authenticationv1.BoundObjectReference{APIVersion: "v1", Kind: "Pod", Name: pod,
			UID: types.UID(uid)}}}
}

func labelled(labels map[string]string) *corev1.Node {
	return &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "a", Labels: labels}}
}

func TestNodeRestriction(t *testing.T) {
	const create, update, remove = admission.Create, admission.Update, admission.Delete
	tainted, owned := labelled(nil), labelled(nil)
	tainted.Spec.Taints = []corev1.Taint{{Key: "x"}}
	owned.OwnerReferences = []metav1.OwnerReference{{Name: "x"}}
	relabelled := onNode("mine", "a", "m")
	relabelled.Labels = map[string]string{"a": "b"}
	renamed := &corev1.PersistentVolumeClaim{ObjectMeta: metav1.ObjectMeta{Labels: map[string]string{"a": "b"}}}
	grown := &corev1.PersistentVolumeClaim{Status: corev1.PersistentVolumeClaimStatus{Capacity: corev1.ResourceList{}}}
	for _, c := range []struct {
		op            admission.Operation
		resource, sub string
		name          string
		object, old   runtime.Object
		want          string // "" is allowed
	}{
		{create, "pods", "", "mirror", mirror(nil), nil, ""},
		{create, "pods", "", "x", onNode("x", "a", ""), nil, "can only create mirror pods"},
		{create, "pods", "", "x", mirror(func(p *corev1.Pod) { p.Spec.NodeName = "b" }), nil,
			"spec.nodeName set to itself"},
		{create, "pods", "", "x", mirror(func(p *corev1.Pod) { p.OwnerReferences = nil }), nil,
			"with an owner reference set to itself"},
		{create, "pods", "", "x", mirror(func(p *corev1.Pod) { p.OwnerReferences[0].UID = "other" }), nil,
			"UID mismatch: expected other got na"},
		{create, "pods", "", "x", mirror(func(p *corev1.Pod) { p.OwnerReferences[0].Controller = nil }), nil,
			"controller owner reference"},
		{create, "pods", "", "x", mirror(func(p *corev1.Pod) { p.Spec.ServiceAccountName = "x" }), nil,
			"reference a service account"},
		{create, "pods", "", "x",
			mirror(func(p *corev1.Pod) { p.Spec.ImagePullSecrets = []corev1.LocalObjectReference{{Name: "s"}} }), nil,
			"reference secrets"},
		{create, "pods", "", "x",
			mirror(func(p *corev1.Pod) { p.Spec.ResourceClaims = []corev1.PodResourceClaim{{Name: "s"}} }), nil,
			"reference resourceclaims"},
		{create, "pods", "", "x", mirror(func(p *corev1.Pod) {
			p.Status.ResourceClaimStatuses = []corev1.PodResourceClaimStatus{{Name: "s",
				ResourceClaimName: ptr.To("s")}}
		}), nil, "reference resourceclaims"},
		{create, "pods", "", "x", mirror(volume(corev1.VolumeSource{Ephemeral: &corev1.EphemeralVolumeSource{}})), nil,
			"reference persistentvolumeclaims"},
		{create, "pods", "", "x",
			mirror(projected(corev1.VolumeProjection{ClusterTrustBundle: &corev1.ClusterTrustBundleProjection{}})),
			nil, "reference clustertrustbundles"},
		{create, "pods", "", "x",
			mirror(projected(corev1.VolumeProjection{PodCertificate: &corev1.PodCertificateProjection{}})), nil,
			"reference podcertificaterequests"},
		{create, "pods", "", "x",
			mirror(projected(corev1.VolumeProjection{ServiceAccountToken: &corev1.ServiceAccountTokenProjection{}})),
			nil, "reference a service account"},
		{update, "pods", "", "mine", onNode("mine", "a", ""), onNode("mine", "a", ""),
			"can only create and delete mirror pods"},
		{remove, "pods", "", "mine", nil, nil, ""},
		{remove, "pods", "", "theirs", nil, nil, "can only delete pods with spec.nodeName set to itself"},
		{remove, "pods", "", "nosuch", nil, nil, "not found"},
		{update, "pods", "status", "mine", onNode("mine", "a", ""), onNode("mine", "a", ""), ""},
		{update, "pods", "status", "mine", relabelled, onNode("mine", "a", ""), "cannot update labels"},
		{update, "pods", "status", "theirs", onNode("theirs", "a", ""), onNode("theirs", "b", ""),
			"can only update pod status for pods"},
		{create, "pods", "eviction", "mine", &policyv1.Eviction{}, nil, ""},
		{create, "pods", "eviction", "", &policyv1.Eviction{ObjectMeta: metav1.ObjectMeta{Name: "theirs"}}, nil,
			"can only evict pods with"},
		{create, "pods", "binding", "mine", &corev1.Binding{}, nil, `unexpected pod subresource "binding"`},
		{create, "nodes", "", "", labelled(map[string]string{corev1.LabelHostname: "a", "own": "x",
			"node.kubernetes.io/x": "y"}), nil, ""},
		{create, "nodes", "", "", labelled(map[string]string{"node-restriction.kubernetes.io/x": "y",
			"foo.k8s.io/z": "1"}), nil, "following labels: foo.k8s.io/z, node-restriction.kubernetes.io/x"},
		{create, "nodes", "", "", &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "b"}}, nil,
			`is not allowed to modify node "b"`},
		{update, "nodes", "status", "a", labelled(nil), labelled(nil), ""},
		{update, "nodes", "", "a", tainted, labelled(nil), "modify taints"},
		{update, "nodes", "", "a", owned, labelled(nil), "modify ownerReferences"},
		{update, "nodes", "", "a", labelled(nil), labelled(map[string]string{"x.kubernetes.io/y": "z"}),
			"modify labels: x.kubernetes.io/y"},
		{remove, "nodes", "", "b", nil, nil, `is not allowed to modify node "b"`},
		{update, "persistentvolumeclaims", "status", "c", grown, &corev1.PersistentVolumeClaim{}, ""},
		{update, "persistentvolumeclaims", "status", "c", renamed, &corev1.PersistentVolumeClaim{},
			"other than status.quantity"},
		{update, "persistentvolumeclaims", "", "c", grown, &corev1.PersistentVolumeClaim{},
			"may only update PVC status"},
		{create, "serviceaccounts", "token", "sa", tokenFor("mine", "m"), nil, `audience "" not found`},
		{create, "serviceaccounts", "token", "sa", tokenFor("projecting", "p"), nil, `audience "" not found`},
		{create, "serviceaccounts", "token", "sa", tokenFor("mounting", "c"), nil, ""},
		{create, "serviceaccounts", "token", "sa", tokenFor("mounting", "c", "for-persistent"), nil, ""},
		{create, "serviceaccounts", "token", "sa", tokenFor("mounting", "c", "for-ephemeral"), nil, ""},
		{create, "serviceaccounts", "token", "sa", tokenFor("mounting", "c", "for-other"), nil,
			`audience "for-other" not found`},
		{create, "serviceaccounts", "token", "sa", &authenticationv1.TokenRequest{}, nil, "not bound to a pod"},
		{create, "serviceaccounts", "token", "sa", tokenFor("mine", ""), nil, "without a uid"},
		{create, "serviceaccounts", "token", "sa", tokenFor("mine", "other"), nil, "does not match the UID in record"},
		{create, "serviceaccounts", "token", "sa", tokenFor("theirs", "t"), nil, "scheduled on a different node"},
		{create, "serviceaccounts", "token", "sa", tokenFor("projecting", "p", "vault"), nil, ""},
		{create, "serviceaccounts", "token", "sa", tokenFor("mine", "m", "vault"), nil,
			`audience "vault" not found in pod spec volume, system:node:a is not authorized to request tokens for audience "vault"`},
		{create, "serviceaccounts", "token", "sa", tokenFor("unclaimed", "unclaimed", "x"), nil,
			`error validating audience "x": persistentvolumeclaim "gone" not found`},
		{create, "serviceaccounts", "token", "sa", tokenFor("driven", "driven", "x"), nil,
			`error validating audience "x": csidriver.storage.k8s.io "gone" not found`},
		{create, "serviceaccounts", "token", "sa", tokenFor("migrated", "migrated", "azure"), nil, ""},
		{create, "serviceaccounts", "token", "sa", tokenFor("claiming", "claiming", "azure"), nil, ""},
		{create, "serviceaccounts", "token", "sa", tokenFor("projecting", "p", "vault", "api"), nil,
			"0 or 1 audiences"},
		{create, "leases.coordination.k8s.io", "", "", &coordinationv1.Lease{ObjectMeta: metav1.ObjectMeta{Name: "a"}},
			nil, "can only access leases in"},
		{create, "resourceslices.resource.k8s.io", "", "",
			&resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: ptr.To("a")}}, nil, ""},
		{remove, "resourceslices.resource.k8s.io", "", "s", nil,
			&resourcev1.ResourceSlice{Spec: resourcev1.ResourceSliceSpec{NodeName: ptr.To("b")}},
			"can only delete ResourceSlice"},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r", certificate(nil), nil, ""},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.NodeName = "b" }), nil,
			`NodeName="b", which is not the requesting node "a"`},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodName = "gone" }), nil,
			`while retrieving pod "n/gone"`},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodName = "elsewhere" }), nil,
			`pod "n/elsewhere" is not running on node "a"`},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodName = "mirrored" }), nil,
			"is a mirror pod"},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.PodUID = "former" }), nil,
			`contains pod UID ("former")`},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.ServiceAccountName = "admin" }),
			nil, `contains serviceAccountName ("admin")`},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.ServiceAccountUID = "former" }),
			nil, `names service account UID "former"`},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.NodeUID = "former" }), nil,
			`names node UID "former"`},
		{create, "podcertificaterequests.certificates.k8s.io", "", "r",
			certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.SignerName = "e.com/b" }), nil,
			`does not mount a podCertificate projected volume for signer "e.com/b"`},
		{update, "csinodes.storage.k8s.io", "", "b", nil, nil, "can only access CSINode"},
		{update, "configmaps", "", "b", nil, nil, ""},
	} {
		refuse := admissiontest.Allowed(func(*authorizer.Attributes) bool { return false })
		gr := schema.ParseGroupResource(c.resource)
		a := &admission.Attributes{Operation: c.op, Resource: gr.WithVersion("v1"), Subresource: c.sub, Namespace: "n",
			Name:   c.name,
			Object: c.object, OldObject: c.old, User: nodeUser("a")}
		err := restriction(refuse).Admit(context.Background(), a)
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%s %s/%s %q: %v, want %q", c.op, c.resource, c.sub, c.name, err, c.want)
		}
		a.User = &user.Info{Name: "alice"}
		if err := restriction(refuse).Admit(context.Background(), a); err != nil {
			t.Errorf("%s %s/%s of somebody who is no node: %v", c.op, c.resource, c.sub, err)
		}
	}
}

func TestNodeWithoutName(t *testing.T) {
	a := &admission.Attributes{Operation: admission.Create, Resource: corev1.Resource("pods").WithVersion("v1"),
		Object: &corev1.Pod{}, User: nodeUser("")}
	if err := restriction(nil).Admit(context.Background(), a); !apierrors.IsForbidden(err) {
		t.Error(err)
	}
}

func TestAuthorizerAllowsCertificates(t *testing.T) {
	var asked authorizer.Attributes
	allow := admissiontest.Allowed(func(a *authorizer.Attributes) bool { asked = *a; return true })
	a := &admission.Attributes{Operation: admission.Create, Namespace: "n", Name: "r", User: nodeUser("a"),
		Resource: certificatesv1beta1.SchemeGroupVersion.WithResource("podcertificaterequests"),
		Object:   certificate(func(s *certificatesv1beta1.PodCertificateRequestSpec) { s.SignerName = "e.com/b" })}
	if err := restriction(allow).Admit(context.Background(), a); err != nil {
		t.Error(err)
	}
	asked.User = nil
	want := authorizer.Attributes{Verb: "request-serviceaccounts-podcertificate-signer", APIGroup: "certificates.k8s.io",
		APIVersion: "*", Resource: "e.com:b", Namespace: "n", Name: "sa", ResourceRequest: true}
	if !reflect.DeepEqual(asked, want) {
		t.Errorf("asked %+v, want %+v", asked, want)
	}
}
