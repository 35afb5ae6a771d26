package pod

import (
	"context"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"triplane.dev/generic/api/kind"
	"triplane.dev/kubeapi/check"
	"triplane.dev/kubeapi/podspec"
	"triplane.dev/kubeapi/specdiff"
)

// ephemeralContainers adds containers for debugging to a running pod.
func ephemeralContainers(o podspec.Options) *kind.Subresource[pod] {
	path := field.NewPath("spec", "ephemeralContainers")
	return &kind.Subresource[pod]{
		Prepare: func(_ context.Context, p, old pod) {
			added := p.Spec.EphemeralContainers
			resetTo(p, old)
			p.Spec.EphemeralContainers = added
		},
		Validate: func(_ context.Context, p, old pod) field.ErrorList {
			if mirrorPod(old) {
				return field.ErrorList{field.Forbidden(field.NewPath(""), "static pods do not support ephemeral containers")}
			}
			errs := validate(o, p)
			now := map[string]*corev1.EphemeralContainer{}
			for i := range p.Spec.EphemeralContainers {
				now[p.Spec.EphemeralContainers[i].Name] = &p.Spec.EphemeralContainers[i]
			}
			for i := range old.Spec.EphemeralContainers {
				was := &old.Spec.EphemeralContainers[i]
				switch is := now[was.Name]; {
				case is == nil:
					errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be removed\n",
						was.Name)))
				case check.Differs(*is, *was):
					errs = append(errs, field.Forbidden(path, fmt.Sprintf("existing ephemeral containers %q may not be changed\n%v",
						was.Name, specdiff.Of(was, is))))
				}
			}
			return errs
		},
		CountsGeneration: true,
		NoTable:          true,
	}
}

// resetTo puts back all of old, except what says which object is meant and who wrote it.
func resetTo(p, old pod) {
	sent := p.ObjectMeta
	*p = *old.DeepCopy()
	p.UID, p.ResourceVersion, p.ManagedFields = sent.UID, sent.ResourceVersion, sent.ManagedFields
}
