package admission

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane/generic/admission"
	"triplane/generic/authorization/authorizer"
	"triplane/kubeapi/group"
)

// Names of the plugins, as --enable-admission-plugins and
// --disable-admission-plugins have them.
const (
	NamespaceLifecycleName       = "NamespaceLifecycle"
	LimitRangerName              = "LimitRanger"
	ServiceAccountName           = "ServiceAccount"
	PriorityName                 = "Priority"
	DefaultTolerationSecondsName = "DefaultTolerationSeconds"
	RuntimeClassName             = "RuntimeClass"
	DefaultStorageClassName      = "DefaultStorageClass"
	DefaultIngressClassName      = "DefaultIngressClass"
	PodSecurityName              = "PodSecurity"
	TaintNodesName               = "TaintNodesByCondition"
	ClaimResizeName              = "PersistentVolumeClaimResize"
	StorageProtectionName        = "StorageObjectInUseProtection"
	NodeRestrictionName          = "NodeRestriction"
	CertificateApprovalName      = "CertificateApproval"
	CertificateSigningName       = "CertificateSigning"
	CertificateSubjectName       = "CertificateSubjectRestriction"
	DenyExternalIPsName          = "DenyServiceExternalIPs"
	ResourceQuotaName            = "ResourceQuota"
)

// OffByDefault tells the plugins that run only where they are asked for.
func OffByDefault(name string) bool {
	return name == NodeRestrictionName || name == DenyExternalIPsName
}

// Settings are what flags say of single plugins.
type Settings struct {
	// How many seconds pods stay on nodes that are not ready or unreachable; 0
	// means 300 for both.
	NotReadySeconds, UnreachableSeconds int64
}

func (s Settings) tolerations() tolerationSeconds {
	if s == (Settings{}) {
		s = Settings{defaultTolerationSeconds, defaultTolerationSeconds}
	}
	return tolerationSeconds{notReady: s.NotReadySeconds, unreachable: s.UnreachableSeconds}
}

// Plugins returns the plugins that are enabled, in the order in which they run.
// Those that need an authorizer ask authz; nil allows everything.
func Plugins(stores *group.Stores, authz authorizer.Authorizer, settings Settings, enabled func(name string) bool) admission.Chain {
	signers := signerCheck{authz}
	var chain admission.Chain
	for _, p := range []struct {
		name   string
		plugin admission.Interface
	}{
		{NamespaceLifecycleName, NewNamespaceLifecycle(stores)},
		{LimitRangerName, &limitRanger{stores: stores}},
		{ServiceAccountName, &serviceAccount{stores: stores}},
		{NodeRestrictionName, newNodeRestriction(stores, authz)},
		{TaintNodesName, taintNodes{}},
		{PodSecurityName, newPodSecurity(stores)},
		{DefaultTolerationSecondsName, settings.tolerations()},
		{PriorityName, &priority{stores: stores}},
		{StorageProtectionName, storageProtection{}},
		{ClaimResizeName, &claimResize{stores: stores}},
		{RuntimeClassName, &runtimeClass{stores: stores}},
		{CertificateApprovalName, &certificateApproval{operations{admission.Update}, signers}},
		{CertificateSigningName, &certificateSigning{operations{admission.Update}, signers}},
		{CertificateSubjectName, &certificateSubject{operations{admission.Create}}},
		{DefaultStorageClassName, &defaultStorageClass{stores: stores}},
		{DefaultIngressClassName, &defaultIngressClass{stores: stores}},
		{DenyExternalIPsName, denyExternalIPs{operations{admission.Create, admission.Update}}},
		{ResourceQuotaName, &resourceQuota{stores: stores}},
	} {
		if enabled == nil || enabled(p.name) {
			chain = append(chain, p.plugin)
		}
	}
	return chain
}

// operations is a set of operations to be embedded in plugins.
type operations []admission.Operation

// Handles implements admission.Interface.
func (o operations) Handles(op admission.Operation) bool {
	for _, x := range o {
		if x == op {
			return true
		}
	}
	return false
}

// podOf returns the pod that is created or updated, nil if the operation is about
// something else, or a subresource.
func podOf(a *admission.Attributes) *corev1.Pod {
	if a.Resource.Group != "" || a.Resource.Resource != "pods" || a.Subresource != "" {
		return nil
	}
	p, _ := a.Object.(*corev1.Pod)
	return p
}

// forbidden refuses an operation.
func forbidden(a *admission.Attributes, format string, args ...any) error {
	return apierrors.NewForbidden(a.Resource.GroupResource(), a.Name, fmt.Errorf(format, args...))
}

func core(plural string) schema.GroupResource { return schema.GroupResource{Resource: plural} }

// fresh reads an object from the cache, and from storage where it is not there:
// it may have been created a moment ago.
func fresh[T interface {
	*V
	group.Object
}, V any](ctx context.Context, stores *group.Stores, gr schema.GroupResource, namespace, name string) (T, error) {
	obj, err := group.Get[T](ctx, stores, gr, namespace, name, group.Cached)
	if apierrors.IsNotFound(err) {
		return group.Get[T](ctx, stores, gr, namespace, name, group.Consistent)
	}
	return obj, err
}
