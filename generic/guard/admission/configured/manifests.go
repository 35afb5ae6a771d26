package configured

import (
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/validation/field"

	"github.com/prometheus/client_golang/prometheus"

	"triplane.dev/generic/base/configfile"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/generic/guard/admission/manifest"
)

// Manifests configures how plugins read webhooks and policies from a directory.
type Manifests struct {
	// Complete applies the defaults of an object and returns its validation errors.
	Complete func(runtime.Object) error
	// Metrics registers the reload metrics; ServerID is their label apiserver_id_hash.
	Metrics  prometheus.Registerer
	ServerID string
}

// policyManifests returns the manifest directory of a policy plugin's configuration, or "".
func policyManifests(raw []byte, kind string) (dir string, err error) {
	var c struct {
		StaticManifestsDir string `json:"staticManifestsDir"`
	}
	err = configuration.Decode(raw, &c, schema.GroupVersionKind{Group: configfile.Group, Version: "v1", Kind: kind})
	return c.StaticManifestsDir, err
}

// static enables a plugin with the manifests of a directory. Follow reloads them, and follows the plugin's objects.
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
		Metrics: configfile.NewMetrics(prometheus.WrapRegistererWith(labels, c.manifests.Metrics), "manifest_admission",
			c.manifests.ServerID)}
	c.sources = append(c.sources, s)
	return s.Start()
}
