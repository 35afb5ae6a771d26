package volume

import (
	"context"
	"net"
	"regexp"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/operation"
	"k8s.io/apimachinery/pkg/api/validate"
	"k8s.io/apimachinery/pkg/util/sets"
	utilvalidation "k8s.io/apimachinery/pkg/util/validation"
	"k8s.io/apimachinery/pkg/util/validation/field"
	"triplane.dev/kubeapi/check"
)

var iscsiNames = map[string]*regexp.Regexp{
	"iqn": regexp.MustCompile(`^iqn\.\d{4}-\d{2}\.([[:alnum:]-.]+)(:[^,;*&$|\s]+)$`),
	"eui": regexp.MustCompile(`^eui.[[:alnum:]]{16}$`),
	"naa": regexp.MustCompile(`^naa.[[:alnum:]]{32}$`),
}

const maxInterfaceName = 64

// iscsi validates the volume of a pod.
func (v *checker) iscsi(s *corev1.ISCSIVolumeSource, path *field.Path) {
	const prefixed = "must be valid format starting with iqn, eui, or naa"
	v.require(path, "targetPortal", s.TargetPortal, "iqn", s.IQN)
	if s.IQN != "" {
		v.iscsiName(s.IQN, prefixed, path.Child("iqn"))
	}
	v.lun(s.Lun, path)
	v.chap(s.DiscoveryCHAPAuth || s.SessionCHAPAuth, s.SecretRef != nil, path)
	if s.InitiatorName != nil {
		v.iscsiName(*s.InitiatorName, prefixed, path.Child("initiatorname"))
	}
}

// initiatorTarget validates a volume's name as part of the name of an interface, which an
// initiator has for each target.
func (v *checker) initiatorTarget(volume string, s *corev1.ISCSIVolumeSource, path *field.Path) {
	if s.InitiatorName != nil && len(volume+":"+s.TargetPortal) > maxInterfaceName {
		v.Add(field.Invalid(path, volume, "Total length of <volume name>:<iscsi.targetPortal> must be under 64 characters if iscsi.initiatorName is specified."))
	}
}

// chap requires the secret that authentication takes.
func (v *checker) chap(authenticates, secret bool, path *field.Path) {
	if authenticates && !secret {
		v.Add(field.Required(path.Child("secretRef"), ""))
	}
}

func (v *checker) lun(n int32, path *field.Path) {
	if n < 0 || n > 255 {
		v.Add(field.Invalid(path.Child("lun"), n, utilvalidation.InclusiveRangeError(0, 255)))
	}
}

// iscsiName validates a name of one of the forms of iSCSI; unknown is the message
// for a name that starts like none of them.
func (v *checker) iscsiName(name, unknown string, path *field.Path) {
	var form *regexp.Regexp
	if len(name) >= 3 {
		form = iscsiNames[name[:3]]
	}
	if form == nil {
		v.Add(field.Invalid(path, name, unknown))
	} else if !form.MatchString(name) {
		v.Add(field.Invalid(path, name, "must be valid format"))
	}
}

func (v *checker) fc(s *corev1.FCVolumeSource, path *field.Path) {
	if len(s.TargetWWNs) < 1 && len(s.WWIDs) < 1 {
		v.Add(field.Required(path.Child("targetWWNs"), "must specify either targetWWNs or wwids, but not both"))
	}
	if len(s.TargetWWNs) != 0 && len(s.WWIDs) != 0 {
		v.Add(field.Invalid(path.Child("targetWWNs"), s.TargetWWNs,
			"targetWWNs and wwids can not be specified simultaneously"))
	}
	if len(s.TargetWWNs) != 0 {
		if s.Lun == nil {
			v.Add(field.Required(path.Child("lun"), "lun is required if targetWWNs is specified"))
		} else {
			v.lun(*s.Lun, path)
		}
	}
}

func (v *checker) azureDisk(d *corev1.AzureDiskVolumeSource, path *field.Path) {
	if d.DiskName == "" {
		v.Add(field.Required(path.Child("diskName"), ""))
	}
	if d.DataDiskURI == "" {
		v.Add(field.Required(path.Child("diskURI"), ""))
	}
	if d.CachingMode != nil {
		v.Add(check.OneOf(*d.CachingMode, path.Child("cachingMode"), corev1.AzureDataDiskCachingNone,
			corev1.AzureDataDiskCachingReadOnly, corev1.AzureDataDiskCachingReadWrite)...)
	}
	if d.Kind == nil {
		return
	}
	v.Add(check.OneOf(*d.Kind, path.Child("kind"), corev1.AzureDedicatedBlobDisk, corev1.AzureManagedDisk,
		corev1.AzureSharedBlobDisk)...)
	const managed = "/subscriptions/{sub-id}/resourcegroups/{group-name}/providers/microsoft.compute/disks/{disk-id}"
	const blob = "https://{account-name}.blob.core.windows.net/{container-name}/{disk-name}.vhd"
	switch {
	case *d.Kind == corev1.AzureManagedDisk && !strings.HasPrefix(d.DataDiskURI, "/subscriptions/"):
		v.Add(field.NotSupported(path.Child("diskURI"), d.DataDiskURI, []string{managed}))
	case *d.Kind != corev1.AzureManagedDisk && !strings.HasPrefix(d.DataDiskURI, "https://"):
		v.Add(field.NotSupported(path.Child("diskURI"), d.DataDiskURI, []string{blob}))
	}
}

func (v *checker) partition(n int32, path *field.Path) {
	if n < 0 || n > 255 {
		v.Add(field.Invalid(path.Child("partition"), n, utilvalidation.InclusiveRangeError(1, 255)))
	}
}

func (v *checker) secretRef(r *corev1.LocalObjectReference, path *field.Path) {
	if r != nil && r.Name == "" {
		v.Add(field.Required(path.Child("secretRef", "name"), ""))
	}
}

func (v *checker) flocker(f *corev1.FlockerVolumeSource, path *field.Path) {
	if f.DatasetName == "" && f.DatasetUUID == "" {
		v.Add(field.Required(path, "one of datasetName and datasetUUID is required"))
	}
	if f.DatasetName != "" && f.DatasetUUID != "" {
		v.Add(field.Invalid(path, "resource", "datasetName and datasetUUID can not be specified simultaneously"))
	}
	if strings.Contains(f.DatasetName, "/") {
		v.Add(field.Invalid(path.Child("datasetName"), f.DatasetName, "must not contain '/'"))
	}
}

func (v *checker) quobyte(q *corev1.QuobyteVolumeSource, path *field.Path) {
	const msg = "must be a host:port pair or multiple pairs separated by commas"
	switch {
	case q.Registry == "":
		v.Add(field.Required(path.Child("registry"), msg))
	case len(q.Tenant) > 64:
		v.Add(field.Required(path.Child("tenant"), "must be a UUID and may not exceed a length of 64 characters"))
	default:
		for _, pair := range strings.Split(q.Registry, ",") {
			if _, _, err := net.SplitHostPort(pair); err != nil {
				v.Add(field.Invalid(path.Child("registry"), q.Registry, msg))
			}
		}
	}
	if q.Volume == "" {
		v.Add(field.Required(path.Child("volume"), ""))
	}
}

func (v *checker) flexVolume(driver string, options map[string]string, path *field.Path) {
	v.require(path, "driver", driver)
	for _, k := range sets.List(sets.KeySet(options)) {
		domain, _, _ := strings.Cut(k, "/")
		domain = "." + strings.ToLower(domain)
		if strings.HasSuffix(domain, ".kubernetes.io") || strings.HasSuffix(domain, ".k8s.io") {
			v.Add(field.Invalid(path.Child("options").Key(k), k, "kubernetes.io and k8s.io namespaces are reserved"))
		}
	}
}

func (v *checker) csi(c *corev1.CSIVolumeSource, path *field.Path) {
	v.Add(CSIDriverName(c.Driver, path.Child("driver"))...)
	if r := c.NodePublishSecretRef; r != nil {
		if r.Name == "" {
			v.Add(field.Required(path.Child("nodePublishSecretRef", "name"), ""))
		} else {
			v.Subdomain(r.Name, path.Child("name")) // its path in kube-apiserver
		}
	}
}

// CSIDriverName validates the name of a CSI driver, which is a domain's of any
// case.
func CSIDriverName(name string, path *field.Path) field.ErrorList {
	const longest = 63
	v := &checker{}
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	if len(name) > longest {
		v.Add(field.TooLong(path, name, longest))
	}
	v.Messages(utilvalidation.IsDNS1123Subdomain(strings.ToLower(name)), name, path)
	return v.Errors
}

// DeclaredDriverName validates the name of a CSI driver where markers of the Go type declare its form.
func DeclaredDriverName(name string, path *field.Path) field.ErrorList {
	const longest = 63
	if name == "" {
		return field.ErrorList{field.Required(path, "")}
	}
	ctx, op := context.Background(), operation.Operation{Type: operation.Create}
	return append(validate.MaxLength(ctx, op, path, &name, nil, longest), validate.LongNameCaseless(ctx, op, path,
		&name, nil)...)
}
