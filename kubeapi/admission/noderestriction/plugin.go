package noderestriction

import (
	"context"
	"fmt"
	"strings"

	certificatesv1 "k8s.io/api/certificates/v1"
	coordinationv1 "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	resourcev1 "k8s.io/api/resource/v1"
	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/nodeauthorizer"
)

// Plugin restricts kubelets to their own Node, and to its pods, leases, CSINodes, ResourceSlices, tokens and
// certificates, in addition to authorization. It is safe for concurrent use.
//
// Options: --enable-admission-plugins; it is off by default. The gate ServiceAccountNodeAudienceRestriction, on by
// default. Metrics: none. Order: before plugins that mutate the object, so that it validates what the kubelet
// sent.
type Plugin struct {
	stores *group.Stores
	authz  authorizer.Authorizer
	limits Limits
}

// Limits are restrictions that a gate lifts.
type Limits struct {
	// AnyAudience allows kubelets to request tokens for any audience.
	AnyAudience bool
	// AnyRequest allows kubelets to request certificates for any name.
	AnyRequest bool
}

// New returns the plugin. It reads the objects that a request is about from stores. authz may allow further audiences
// and signers; nil allows none.
func New(stores *group.Stores, authz authorizer.Authorizer, l Limits) *Plugin {
	return &Plugin{stores, authz, l}
}

// Handles implements admission.Interface.
func (p *Plugin) Handles(op admission.Operation) bool {
	return op == admission.Create || op == admission.Update || op == admission.Delete
}

// Admit implements admission.MutatingInterface, so that it rejects objects before other plugins mutate them. It
// changes nothing.
func (p *Plugin) Admit(ctx context.Context, a *admission.Attributes) error {
	self, isNode := nodeauthorizer.Name(a.User)
	if !isNode {
		return nil
	}
	if self == "" {
		return admission.Forbiddenf(a, "could not determine node from user %q", a.User.Name)
	}
	switch a.Resource.GroupResource() {
	case corev1.Resource("pods"):
		return p.pod(ctx, self, a)
	case corev1.Resource("nodes"):
		return ownNode(self, a)
	case corev1.Resource("persistentvolumeclaims"):
		return claimStatus(self, a)
	case corev1.Resource("serviceaccounts"):
		return p.token(ctx, self, a)
	case coordinationv1.Resource("leases"):
		return ownLease(self, a)
	case storagev1.Resource("csinodes"):
		if nameOf(a) != self {
			return admission.Forbiddenf(a, "can only access CSINode with the same name as the requesting node")
		}
	case resourcev1.Resource("resourceslices"):
		return ownSlice(self, a)
	case certificatesv1.Resource("podcertificaterequests"):
		return p.podCertificate(ctx, self, a)
	case certificatesv1.Resource("certificatesigningrequests"):
		if !p.limits.AnyRequest {
			return ownCertificate(a)
		}
	}
	return nil
}

// nameOf returns the name of the object, including that of a new one.
func nameOf(a *admission.Attributes) string {
	if m, ok := a.Object.(metav1.Object); ok && a.Operation == admission.Create {
		return m.GetName()
	}
	return a.Name
}

func (p *Plugin) pod(ctx context.Context, self string, a *admission.Attributes) error {
	switch a.Subresource {
	case "":
		switch a.Operation {
		case admission.Create:
			return p.mirrorPod(ctx, self, a)
		case admission.Delete:
			return p.runsHere(ctx, a, a.Name, self,
				fmt.Sprintf("node %q can only delete pods with spec.nodeName set to itself", self))
		}
		return admission.Forbiddenf(a,
			"unexpected operation %q, node %q can only create and delete mirror pods", a.Operation,
			self)
	case "status":
		if a.Operation != admission.Update {
			return admission.Forbiddenf(a,
				"unexpected operation %q, node %q can only update pod status", a.Operation, self)
		}
		return podStatus(self, a)
	case "eviction":
		if a.Operation != admission.Create {
			return admission.Forbiddenf(a, "unexpected operation %s, node %s can only evict pods", a.Operation, self)
		}
		name := a.Name
		if m, ok := a.Object.(metav1.Object); ok && name == "" {
			name = m.GetName()
		}
		if name == "" {
			return admission.Forbiddenf(a, "could not determine pod from request data")
		}
		return p.runsHere(ctx, a, name, self,
			fmt.Sprintf("node %s can only evict pods with spec.nodeName set to itself", self))
	}
	return admission.Forbiddenf(a,
		"unexpected pod subresource %q, only 'status' and 'eviction' are allowed", a.Subresource)
}

// runsHere rejects operations on a pod of another node with the message.
func (p *Plugin) runsHere(ctx context.Context, a *admission.Attributes, name, self, message string) error {
	pod, err := group.Pods(p.stores).Get(ctx, a.Namespace, name)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return admission.Forbiddenf(a, "%w", err)
	case pod.Spec.NodeName != self:
		return admission.Forbiddenf(a, "%s", message)
	}
	return nil
}

func podStatus(self string, a *admission.Attributes) error {
	old, _ := a.OldObject.(*corev1.Pod)
	pod, _ := a.Object.(*corev1.Pod)
	switch {
	case old == nil || pod == nil:
		return admission.Forbiddenf(a, "unexpected type %T", a.Object)
	case old.Spec.NodeName != self:
		return admission.Forbiddenf(a,
			"node %q can only update pod status for pods with spec.nodeName set to itself", self)
	case !equality.Semantic.DeepEqual(old.Labels, pod.Labels):
		return admission.Forbiddenf(a, "node %q cannot update labels through pod status", self)
	case !equality.Semantic.DeepEqual(old.Status.ResourceClaimStatuses, pod.Status.ResourceClaimStatuses):
		return admission.Forbiddenf(a, "node %q cannot update resource claim statuses", self)
	case !equality.Semantic.DeepEqual(old.Status.ExtendedResourceClaimStatus, pod.Status.ExtendedResourceClaimStatus):
		return admission.Forbiddenf(a, "node %q cannot update extended resource claim status", self)
	}
	return nil
}

// mirrorPod validates a mirror pod, which a kubelet creates from a local file. It must belong to the node, and not
// refer to objects that the node could not read otherwise.
func (p *Plugin) mirrorPod(ctx context.Context, self string, a *admission.Attributes) error {
	pod, ok := a.Object.(*corev1.Pod)
	if !ok {
		return admission.Forbiddenf(a, "unexpected type %T", a.Object)
	}
	if _, mirror := pod.Annotations[corev1.MirrorPodAnnotationKey]; !mirror {
		return admission.Forbiddenf(a, "pod does not have %q annotation, node %q can only create mirror pods",
			corev1.MirrorPodAnnotationKey, self)
	}
	if pod.Spec.NodeName != self {
		return admission.Forbiddenf(a, "node %q can only create pods with spec.nodeName set to itself", self)
	}
	if err := p.ownedBy(ctx, self, pod, a); err != nil {
		return err
	}
	if what := refersTo(pod); what != "" {
		return admission.Forbiddenf(a, "node %q can not create pods that reference %s", self, what)
	}
	return nil
}

// ownedBy rejects a pod unless the node is its only owner.
func (p *Plugin) ownedBy(ctx context.Context, self string, pod *corev1.Pod, a *admission.Attributes) error {
	switch n := len(pod.OwnerReferences); {
	case n > 1:
		return admission.Forbiddenf(a, "node %q can only create pods with a single owner reference set to itself", self)
	case n == 0:
		return admission.Forbiddenf(a, "node %q can only create pods with an owner reference set to itself", self)
	}
	owner := &pod.OwnerReferences[0]
	switch {
	case owner.APIVersion != "v1" || owner.Kind != "Node" || owner.Name != self:
		return admission.Forbiddenf(a, "node %q can only create pods with an owner reference set to itself", self)
	case owner.Controller == nil || !*owner.Controller:
		return admission.Forbiddenf(a,
			"node %q can only create pods with a controller owner reference set to itself", self)
	case owner.BlockOwnerDeletion != nil && *owner.BlockOwnerDeletion:
		return admission.Forbiddenf(a, "node %q must not set blockOwnerDeletion on an owner reference", self)
	}
	n, err := group.Nodes(p.stores).Get(ctx, "", self)
	switch {
	case apierrors.IsNotFound(err):
		return err
	case err != nil:
		return admission.Forbiddenf(a, "%w", err)
	case owner.UID != n.UID:
		return admission.Forbiddenf(a, "node %s UID mismatch: expected %s got %s", self, owner.UID, n.UID)
	}
	return nil
}

// refersTo returns the kind of API objects that a pod needs, "" if it needs none.
func refersTo(pod *corev1.Pod) string {
	if pod.Spec.ServiceAccountName != "" {
		return "a service account"
	}
	secrets, configMaps := nodeauthorizer.Refers(pod)
	switch {
	case secrets:
		return "secrets"
	case configMaps:
		return "configmaps"
	}
	for i := range pod.Spec.Volumes {
		if what := volumeRefersTo(&pod.Spec.Volumes[i]); what != "" {
			return what
		}
	}
	// The status counts as well, because the node authorizer uses it.
	if s := &pod.Status; len(pod.Spec.ResourceClaims)+len(s.ResourceClaimStatuses) > 0 ||
		s.ExtendedResourceClaimStatus != nil {
		return "resourceclaims"
	}
	return ""
}

func volumeRefersTo(v *corev1.Volume) string {
	if v.PersistentVolumeClaim != nil || v.Ephemeral != nil {
		return "persistentvolumeclaims"
	}
	if v.Projected == nil {
		return ""
	}
	for i := range v.Projected.Sources {
		switch s := &v.Projected.Sources[i]; {
		case s.ClusterTrustBundle != nil:
			return "clustertrustbundles"
		case s.PodCertificate != nil:
			return "podcertificaterequests"
		case s.ServiceAccountToken != nil:
			return "a service account"
		}
	}
	return ""
}

func claimStatus(self string, a *admission.Attributes) error {
	if a.Subresource != "status" {
		return admission.Forbiddenf(a, "may only update PVC status")
	}
	old, _ := a.OldObject.(*corev1.PersistentVolumeClaim)
	claim, _ := a.Object.(*corev1.PersistentVolumeClaim)
	if a.Operation != admission.Update || old == nil || claim == nil {
		return admission.Forbiddenf(a, "unexpected operation %q, node %q can only update pvc status", a.Operation, self)
	}
	bare := func(c *corev1.PersistentVolumeClaim) *corev1.PersistentVolumeClaim {
		c = c.DeepCopy()
		c.ResourceVersion, c.ManagedFields = "", nil
		s := &c.Status
		s.Capacity, s.Conditions, s.AllocatedResources, s.AllocatedResourceStatuses = nil, nil, nil, nil
		s.CurrentVolumeAttributesClassName, s.ModifyVolumeStatus = nil, nil
		return c
	}
	if !equality.Semantic.DeepEqual(bare(old), bare(claim)) {
		return admission.Forbiddenf(a,
			"node %q is not allowed to update fields other than status.quantity and status.conditions",
			self)
	}
	return nil
}

func ownLease(self string, a *admission.Attributes) error {
	if a.Namespace != corev1.NamespaceNodeLease {
		return admission.Forbiddenf(a, "can only access leases in the %q system namespace", corev1.NamespaceNodeLease)
	}
	if nameOf(a) != self {
		return admission.Forbiddenf(a, "can only access node lease with the same name as the requesting node")
	}
	return nil
}

// ownSlice checks the node name of a ResourceSlice, which is not visible to the node authorizer.
func ownSlice(self string, a *admission.Attributes) error {
	check := func(obj any, verb string) error {
		s, ok := obj.(*resourcev1.ResourceSlice)
		if !ok {
			return admission.Forbiddenf(a, "unexpected type %T", obj)
		}
		if s.Spec.NodeName == nil || *s.Spec.NodeName != self {
			return admission.Forbiddenf(a,
				"can only %s ResourceSlice with the same NodeName as the requesting node", verb)
		}
		return nil
	}
	switch a.Operation {
	case admission.Create:
		return check(a.Object, "create")
	case admission.Delete:
		return check(a.OldObject, "delete")
	}
	return nil
}

// ownCertificate restricts a node's certificate requests to its own name.
func ownCertificate(a *admission.Attributes) error {
	csr, ok := a.Object.(*certificatesv1.CertificateSigningRequest)
	if !ok || a.Operation != admission.Create || a.Subresource != "" {
		return nil
	}
	if n := csr.Spec.SignerName; n != certificatesv1.KubeletServingSignerName &&
		n != certificatesv1.KubeAPIServerClientKubeletSignerName {
		return nil
	}
	request, err := check.ParseCertificateRequest(csr.Spec.Request)
	if err != nil {
		return admission.Forbiddenf(a, "unable to parse csr: %w", err)
	}
	if request.Subject.CommonName != a.User.Name {
		return admission.Forbiddenf(a, "can only create a node CSR with CN=%s", a.User.Name)
	}
	return nil
}

// ownNode checks a node's operations on Node objects.
func ownNode(self string, a *admission.Attributes) error {
	if name := nameOf(a); name != self {
		return admission.Forbiddenf(a, "node %q is not allowed to modify node %q", self, name)
	}
	n, _ := a.Object.(*corev1.Node)
	old, _ := a.OldObject.(*corev1.Node)
	switch a.Operation {
	case admission.Create:
		return newNode(self, n, a)
	case admission.Update:
		return changedNode(self, n, old, a)
	}
	return nil
}

func newNode(self string, n *corev1.Node, a *admission.Attributes) error {
	if n == nil {
		return admission.Forbiddenf(a, "unexpected type %T", a.Object)
	}
	if n.Spec.ConfigSource != nil {
		return admission.Forbiddenf(a, "node %q is not allowed to create pods with a non-nil configSource", self)
	}
	if labels := foreignLabels(n.Labels, nil); len(labels) > 0 {
		return admission.Forbiddenf(a,
			"node %q is not allowed to set the following labels: %s", self, strings.Join(labels, ", "))
	}
	return nil
}

func changedNode(self string, n, old *corev1.Node, a *admission.Attributes) error {
	if n == nil || old == nil {
		return admission.Forbiddenf(a, "unexpected type %T", a.Object)
	}
	if n.Spec.ConfigSource != nil && !equality.Semantic.DeepEqual(n.Spec.ConfigSource, old.Spec.ConfigSource) {
		return admission.Forbiddenf(a,
			"node %q is not allowed to update configSource to a new non-nil configSource", self)
	}
	if !equality.Semantic.DeepEqual(n.Spec.Taints, old.Spec.Taints) {
		return admission.Forbiddenf(a, "node %q is not allowed to modify taints", self)
	}
	if labels := foreignLabels(n.Labels, old.Labels); len(labels) > 0 {
		return admission.Forbiddenf(a, "is not allowed to modify labels: %s", strings.Join(labels, ", "))
	}
	if !equality.Semantic.DeepEqual(n.OwnerReferences, old.OwnerReferences) {
		return admission.Forbiddenf(a, "node %q is not allowed to modify ownerReferences", self)
	}
	return nil
}
