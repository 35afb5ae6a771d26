package triplane

import (
	"fmt"

	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/group"
)

// release returns the release of Kubernetes whose built-in kinds are served.
func (o *Options) release() group.Release {
	r := group.Release{
		Emulated: o.Compatibility.Emulated(), MinCompatibility: o.Compatibility.MinCompatibility(),
		ForwardCompatible: o.Compatibility.ForwardCompatible, KeepRemoved: o.Compatibility.KeepRemoved,
	}
	if o.Compatibility.RuntimeConfigForwardCompatible {
		r.Forced = o.Kube.RuntimeConfig.Names
	}
	return r
}

// servedTooEarly returns an error for each version in --runtime-config that came after the emulated release.
func (o *Options) servedTooEarly() []error {
	if o.Compatibility.RuntimeConfigForwardCompatible {
		return nil
	}
	var errs []error
	release := o.Compatibility.Emulated()
	for _, gv := range o.Kube.RuntimeConfig.Named() {
		if kubeapi.ComesAfter(release, gv) {
			errs = append(errs,
				fmt.Errorf("cannot enable version %s in --runtime-config, because it came after the emulated release "+
					"%s; --runtime-config-emulation-forward-compatible serves it", gv, release))
		}
	}
	return errs
}
