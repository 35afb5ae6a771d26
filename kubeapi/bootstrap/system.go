package bootstrap

import (
	"context"
	"errors"
	"net"
	"time"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/intstr"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/group"
)

// Names of the hooks of this file.
const (
	NamespacesHook  = "start-system-namespaces-controller"
	ServiceHook     = "bootstrap-controller"
	ServiceCIDRHook = "start-kubernetes-service-cidr-controller"
	TrackingHook    = "start-legacy-token-tracking-controller"
)

// written is a managed-fields entry for what the server writes itself; fields is
// JSON.
func written(apiVersion, fields string) []metav1.ManagedFieldsEntry {
	return []metav1.ManagedFieldsEntry{group.Written(manager, apiVersion, fields)}
}

// createMissing creates an object unless it is there; it does not look at one
// that is.
func createMissing[T kind.Object](ctx context.Context, of group.Handle[T], obj T) error {
	_, err := of.GetConsistent(ctx, obj.GetNamespace(), obj.GetName())
	if err == nil || !apierrors.IsNotFound(err) {
		return err
	}
	return create(asServer(ctx), kindOf[T]{Handle: of}, obj)
}

// Namespaces makes sure of the system's namespaces.
func Namespaces(ctx context.Context, stores *group.Stores) error {
	const fields = `{"f:metadata":{"f:labels":{".":{},"f:kubernetes.io/metadata.name":{}}}}`
	var work []func() error
	for _, name := range []string{metav1.NamespaceSystem, metav1.NamespacePublic, corev1.NamespaceNodeLease,
		metav1.NamespaceDefault} {
		ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{
			Name: name, Labels: map[string]string{corev1.LabelMetadataName: name}, ManagedFields: written("v1", fields),
		}}
		work = append(work, func() error { return createMissing(ctx, group.Namespaces(stores), ns) })
	}
	return inParallel(work)
}

// KubernetesService makes sure of the Service "kubernetes", through which pods
// reach the API at the first IP of the range.
func KubernetesService(ctx context.Context, stores *group.Stores, ip net.IP, port, nodePort int) error {
	const fields = `{"f:metadata":{"f:labels":{".":{},"f:component":{},"f:provider":{}}},"f:spec":{"f:clusterIP":{},"f:internalTrafficPolicy":{},"f:ipFamilyPolicy":{},"f:ports":{".":{},"k:{\"port\":443,\"protocol\":\"TCP\"}":{".":{},"f:name":{},"f:port":{},"f:protocol":{},"f:targetPort":{}}},"f:sessionAffinity":{},"f:type":{}}}`
	single, internal := corev1.IPFamilyPolicySingleStack, corev1.ServiceInternalTrafficPolicyCluster
	s := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kubernetes", Namespace: metav1.NamespaceDefault,
			Labels:        map[string]string{"component": "apiserver", "provider": "kubernetes"},
			ManagedFields: written("v1", fields),
		},
		Spec: corev1.ServiceSpec{
			Ports: []corev1.ServicePort{{
				Name: "https", Port: 443, Protocol: corev1.ProtocolTCP, TargetPort: intstr.FromInt(port), NodePort: int32(nodePort),
			}},
			ClusterIP: ip.String(), ClusterIPs: []string{ip.String()}, Type: corev1.ServiceTypeClusterIP,
			SessionAffinity: corev1.ServiceAffinityNone, IPFamilyPolicy: &single, InternalTrafficPolicy: &internal,
		},
	}
	if nodePort > 0 {
		s.Spec.Type, s.Spec.ExternalTrafficPolicy = corev1.ServiceTypeNodePort, corev1.ServiceExternalTrafficPolicyCluster
	}
	return put(ctx, group.Services(stores), s, func(have *corev1.Service) bool {
		for _, p := range have.Spec.Ports {
			if p.Port == 443 && p.Protocol == corev1.ProtocolTCP {
				return false // perhaps that of another replica
			}
		}
		have.Spec.Ports = s.Spec.Ports
		return true
	})
}

// LegacyTokenTracking makes sure of the config map that says since when uses of
// service account tokens kept in Secrets are noted. A new one has the date of began.
func LegacyTokenTracking(ctx context.Context, stores *group.Stores, began time.Time) error {
	const since = "since"
	want := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: "kube-apiserver-legacy-service-account-token-tracking", Namespace: metav1.NamespaceSystem,
			ManagedFields: written("v1", `{"f:data":{".":{},"f:since":{}}}`),
		},
		Data: map[string]string{since: began.UTC().Format(time.DateOnly)},
	}
	return put(ctx, group.ConfigMaps(stores), want, func(have *corev1.ConfigMap) bool {
		if _, err := time.Parse(time.DateOnly, have.Data[since]); err == nil {
			return false
		}
		have.Data = want.Data
		return true
	})
}

// put creates an object, or changes the present one where change says that it
// has to be.
func put[T kind.Object](ctx context.Context, of group.Handle[T], want T, change func(have T) bool) error {
	have, err := of.GetConsistent(ctx, want.GetNamespace(), want.GetName())
	if apierrors.IsNotFound(err) {
		return create(asServer(ctx), kindOf[T]{Handle: of}, want)
	}
	if err != nil || !change(have) {
		return err
	}
	return update(asServer(ctx), kindOf[T]{Handle: of, repair: func(have, _ T) bool { return change(have) }}, want)
}

var errNoAddress = errors.New("no address to advertise")
