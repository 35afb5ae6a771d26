package noderestriction

import (
	"context"
	"errors"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/api/kind"
	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/group"
)

// audience rejects tokens for an audience that neither the pod's volumes nor one of its CSI drivers nor the
// authorizer allows.
func (p *Plugin) audience(
	ctx context.Context, pod *corev1.Pod, audiences []string, a *admission.Attributes,
) error {
	if p.limits.AnyAudience {
		return nil
	}
	wanted := "" // of the API server
	switch len(audiences) {
	case 0:
	case 1:
		wanted = audiences[0]
	default:
		return admission.Forbiddenf(a, "node may only request 0 or 1 audiences")
	}
	var errs []error
	for i := range pod.Spec.Volumes {
		needs, err := p.volumeNeeds(ctx, pod, &pod.Spec.Volumes[i], wanted)
		if needs {
			return nil
		}
		errs = append(errs, err)
	}
	if p.mayRequest(ctx, wanted, a) {
		return nil
	}
	if err := errors.Join(errs...); err != nil {
		return admission.Forbiddenf(a, "error validating audience %q: %w", wanted, err)
	}
	return admission.Forbiddenf(a,
		"audience %q not found in pod spec volume, %s is not authorized to request tokens for audience %q", wanted,
		a.User.Name, wanted)
}

// mayRequest reports whether the authorizer allows a node to request tokens for an audience.
func (p *Plugin) mayRequest(ctx context.Context, audience string, a *admission.Attributes) bool {
	return p.allows(ctx, &authorizer.Attributes{
		User: a.User, Verb: "request-serviceaccounts-token-audience", APIVersion: "v1", Resource: audience,
		Namespace: a.Namespace, Name: a.Name, ResourceRequest: true,
	})
}

// allows reports whether the authorizer allows what a node may not do by itself.
func (p *Plugin) allows(ctx context.Context, attrs *authorizer.Attributes) bool {
	if p.authz == nil {
		return false
	}
	decision, _, err := p.authz.Authorize(ctx, attrs)
	return err == nil && decision == authorizer.Allow
}

// volumeNeeds reports whether a volume of the pod needs a token for an audience: as a projected token or for its
// CSI driver.
func (p *Plugin) volumeNeeds(
	ctx context.Context, pod *corev1.Pod, v *corev1.Volume, audience string,
) (bool, error) {
	switch {
	case v.Projected != nil:
		for _, s := range v.Projected.Sources {
			if s.ServiceAccountToken != nil && s.ServiceAccountToken.Audience == audience {
				return true, nil
			}
		}
		return false, nil
	case v.PersistentVolumeClaim != nil:
		return p.claimNeeds(ctx, pod.Namespace, v.PersistentVolumeClaim.ClaimName, audience)
	case v.Ephemeral != nil:
		return p.claimNeeds(ctx, pod.Namespace, pod.Name+"-"+v.Name, audience)
	}
	return p.driverNeeds(ctx, driverOf(&v.VolumeSource), audience)
}

func (p *Plugin) claimNeeds(ctx context.Context, namespace, name, audience string) (bool, error) {
	claim, err := used(ctx, group.PersistentVolumeClaims(p.stores), "persistentvolumeclaim", namespace, name)
	if err != nil || claim.Spec.VolumeName == "" {
		return false, err
	}
	volume, err := used(ctx, group.PersistentVolumes(p.stores), "persistentvolume", "", claim.Spec.VolumeName)
	if err != nil {
		return false, err
	}
	return p.driverNeeds(ctx, persistentDriverOf(&volume.Spec.PersistentVolumeSource), audience)
}

func (p *Plugin) driverNeeds(ctx context.Context, name, audience string) (bool, error) {
	if name == "" {
		return false, nil
	}
	driver, err := used(ctx, group.CSIDrivers(p.stores), "csidriver", "", name)
	if err != nil {
		return false, err
	}
	for _, t := range driver.Spec.TokenRequests {
		if t.Audience == audience {
			return true, nil
		}
	}
	return false, nil
}

// used reads an object that a volume uses. A NotFound error has the singular name of the resource.
func used[T kind.Object](
	ctx context.Context, of group.Handle[T], singular, namespace, name string,
) (T, error) {
	obj, err := of.Get(ctx, namespace, name)
	if apierrors.IsNotFound(err) {
		err = apierrors.NewNotFound(schema.GroupResource{Group: of.Resource().Group, Resource: singular}, name)
	}
	return obj, err
}

// driverOf returns the CSI driver of a pod's volume, "" if it has none.
func driverOf(v *corev1.VolumeSource) string {
	if v.CSI != nil {
		return v.CSI.Driver
	}
	return inTreeVolume{awsDisk: v.AWSElasticBlockStore != nil, azureDisk: v.AzureDisk != nil,
		azureFile: v.AzureFile != nil, cinder: v.Cinder != nil, gceDisk: v.GCEPersistentDisk != nil,
		portworx: v.PortworxVolume != nil, vSphere: v.VsphereVolume != nil}.driver()
}

// persistentDriverOf is driverOf for a PersistentVolume.
func persistentDriverOf(v *corev1.PersistentVolumeSource) string {
	if v.CSI != nil {
		return v.CSI.Driver
	}
	return inTreeVolume{awsDisk: v.AWSElasticBlockStore != nil, azureDisk: v.AzureDisk != nil,
		azureFile: v.AzureFile != nil, cinder: v.Cinder != nil, gceDisk: v.GCEPersistentDisk != nil,
		portworx: v.PortworxVolume != nil, vSphere: v.VsphereVolume != nil}.driver()
}

// inTreeVolume has the source of an in-tree volume, which is that of a pod or of a PersistentVolume.
type inTreeVolume struct{ awsDisk, azureDisk, azureFile, cinder, gceDisk, portworx, vSphere bool }

// driver returns the CSI driver that the volume was migrated to (KEP-625), "" if there is none.
func (v inTreeVolume) driver() string {
	switch {
	case v.awsDisk:
		return "ebs.csi.aws.com"
	case v.azureDisk:
		return "disk.csi.azure.com"
	case v.azureFile:
		return "file.csi.azure.com"
	case v.cinder:
		return "cinder.csi.openstack.org"
	case v.gceDisk:
		return "pd.csi.storage.gke.io"
	case v.portworx:
		return "pxd.portworx.com"
	case v.vSphere:
		return "csi.vsphere.vmware.com"
	}
	return ""
}
