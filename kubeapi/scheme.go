package kubeapi

import (
	"net/url"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	admissionregistrationv1alpha1 "k8s.io/api/admissionregistration/v1alpha1"
	admissionregistrationv1beta1 "k8s.io/api/admissionregistration/v1beta1"
	apiserverinternalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	appsv1 "k8s.io/api/apps/v1"
	authenticationv1 "k8s.io/api/authentication/v1"
	authorizationv1 "k8s.io/api/authorization/v1"
	autoscalingv1 "k8s.io/api/autoscaling/v1"
	autoscalingv2 "k8s.io/api/autoscaling/v2"
	batchv1 "k8s.io/api/batch/v1"
	certificatesv1 "k8s.io/api/certificates/v1"
	certificatesv1alpha1 "k8s.io/api/certificates/v1alpha1"
	certificatesv1beta1 "k8s.io/api/certificates/v1beta1"
	coordinationv1 "k8s.io/api/coordination/v1"
	coordinationv1alpha2 "k8s.io/api/coordination/v1alpha2"
	coordinationv1beta1 "k8s.io/api/coordination/v1beta1"
	corev1 "k8s.io/api/core/v1"
	discoveryv1 "k8s.io/api/discovery/v1"
	eventsv1 "k8s.io/api/events/v1"
	flowcontrolv1 "k8s.io/api/flowcontrol/v1"
	lifecyclev1alpha1 "k8s.io/api/lifecycle/v1alpha1"
	networkingv1 "k8s.io/api/networking/v1"
	networkingv1beta1 "k8s.io/api/networking/v1beta1"
	nodev1 "k8s.io/api/node/v1"
	policyv1 "k8s.io/api/policy/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	resourcev1 "k8s.io/api/resource/v1"
	resourcev1alpha3 "k8s.io/api/resource/v1alpha3"
	resourcev1beta1 "k8s.io/api/resource/v1beta1"
	resourcev1beta2 "k8s.io/api/resource/v1beta2"
	schedulingv1 "k8s.io/api/scheduling/v1"
	schedulingv1alpha3 "k8s.io/api/scheduling/v1alpha3"
	schedulingv1beta1 "k8s.io/api/scheduling/v1beta1"
	storagev1 "k8s.io/api/storage/v1"
	storagev1beta1 "k8s.io/api/storage/v1beta1"
	storagemigrationv1 "k8s.io/api/storagemigration/v1"
	storagemigrationv1beta1 "k8s.io/api/storagemigration/v1beta1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/conversion"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	utilruntime "k8s.io/apimachinery/pkg/util/runtime"
)

// NewScheme returns a scheme of the Go types of all built-in kinds in their
// served versions. It knows nothing of defaults: those belong to the kinds'
// declarations.
func NewScheme() *runtime.Scheme {
	s := runtime.NewScheme()
	metav1.AddToGroupVersion(s, schema.GroupVersion{Version: "v1"})
	for _, add := range []func(*runtime.Scheme) error{
		corev1.AddToScheme, authenticationv1.AddToScheme, authorizationv1.AddToScheme,
		autoscalingv1.AddToScheme, autoscalingv2.AddToScheme, batchv1.AddToScheme,
		certificatesv1.AddToScheme, coordinationv1.AddToScheme, discoveryv1.AddToScheme,
		networkingv1.AddToScheme, nodev1.AddToScheme, policyv1.AddToScheme, rbacv1.AddToScheme,
		schedulingv1.AddToScheme, storagev1.AddToScheme, flowcontrolv1.AddToScheme,
		appsv1.AddToScheme, storagemigrationv1.AddToScheme, admissionregistrationv1.AddToScheme, eventsv1.AddToScheme,
		resourcev1.AddToScheme, addBetas, metav1.AddMetaToScheme, addConnectOptions,
	} {
		utilruntime.Must(add(s))
	}
	return s
}

// addBetas adds the versions that are not served unless asked for.
func addBetas(s *runtime.Scheme) error {
	for _, add := range []func(*runtime.Scheme) error{
		admissionregistrationv1alpha1.AddToScheme,
		admissionregistrationv1beta1.AddToScheme,
		apiserverinternalv1alpha1.AddToScheme,
		certificatesv1alpha1.AddToScheme,
		certificatesv1beta1.AddToScheme,
		coordinationv1alpha2.AddToScheme,
		coordinationv1beta1.AddToScheme,
		lifecyclev1alpha1.AddToScheme,
		networkingv1beta1.AddToScheme,
		resourcev1alpha3.AddToScheme,
		resourcev1beta1.AddToScheme,
		resourcev1beta2.AddToScheme,
		schedulingv1alpha3.AddToScheme,
		schedulingv1beta1.AddToScheme,
		storagev1beta1.AddToScheme,
		storagemigrationv1beta1.AddToScheme,
	} {
		if err := add(s); err != nil {
			return err
		}
	}
	return nil
}

// addConnectOptions teaches the scheme to read the options of pods/exec and its
// like from a query.
func addConnectOptions(s *runtime.Scheme) error {
	for _, c := range []struct {
		out  any
		read func(q url.Values, out any) error
	}{
		{(*corev1.PodExecOptions)(nil), readPodExec},
		{(*corev1.PodAttachOptions)(nil), readPodAttach},
		{(*corev1.PodLogOptions)(nil), readPodLog},
		{(*corev1.PodPortForwardOptions)(nil), readPodPortForward},
		{(*corev1.PodProxyOptions)(nil), readPodProxy},
		{(*corev1.ServiceProxyOptions)(nil), readServiceProxy},
		{(*corev1.NodeProxyOptions)(nil), readNodeProxy},
	} {
		err := s.AddConversionFunc((*url.Values)(nil), c.out, func(in, out any, _ conversion.Scope) error {
			return c.read(*in.(*url.Values), out)
		})
		if err != nil {
			return err
		}
	}
	return nil
}
