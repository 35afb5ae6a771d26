package configured

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/prometheus/client_golang/prometheus"

	"triplane/generic/base/configfile"
	"triplane/generic/guard/admission/configuration"
	"triplane/generic/guard/admission/manifest"
)

// Manifests are for plugins whose configurations name a folder with webhooks or policies.
type Manifests struct {
	// Complete sets the defaults of an object, and returns what the API would refuse.
	Complete func(runtime.Object) error
	// Metrics are for how often folders were read, of the server with an identity.
	Metrics  prometheus.Registerer
	ServerID string
}

// policyManifests reads the configuration of a plugin of policies: the folder of their
// manifests, "" for none.
func policyManifests(raw []byte, kind string) (dir string, err error) {
	var c struct {
		StaticManifestsDir string `json:"staticManifestsDir"`
	}
	err = configuration.Decode(raw, &c, schema.GroupVersionKind{Group: configfile.Group, Version: "v1", Kind: kind})
	return c.StaticManifestsDir, err
}

// static enables a plugin, whose objects Follow follows, with the manifests of a folder.
func (c *Plugins) static(plugin, dir string, use func(*manifest.Objects)) error {
	c.enabled = append(c.enabled, plugin)
	if dir == "" {
		return nil
	}
	if c.manifests == nil {
		return field.Forbidden(field.NewPath("staticManifestsDir"),
			"staticManifestsDir requires the ManifestBasedAdmissionControlConfig feature gate to be enabled")
	}
	if err := manifest.CheckDir(dir); err != nil {
		return err
	}
	labels := prometheus.Labels{"plugin": plugin}
	s := &manifest.Source{Plugin: plugin, Dir: dir, Complete: c.manifests.Complete, Use: use,
		Metrics: configfile.NewMetrics(prometheus.WrapRegistererWith(labels, c.manifests.Metrics), "manifest_admission", c.manifests.ServerID)}
	c.sources = append(c.sources, s)
	return s.Start()
}
