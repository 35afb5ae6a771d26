package configuration

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/klog/v2"
	"sigs.k8s.io/yaml"

	"triplane/generic/base/configfile"
)

// kinds are the versions of AdmissionConfiguration, which have the same fields.
func kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: configfile.Group, Version: "v1", Kind: "AdmissionConfiguration"},
		{Group: "apiserver.k8s.io", Version: "v1alpha1", Kind: "AdmissionConfiguration"},
	}
}

// admissionConfiguration is the file.
type admissionConfiguration struct {
	Plugins []pluginConfiguration `json:"plugins"`
}

// pluginConfiguration is the configuration of a plugin, or the path of its file,
// relative to this one.
type pluginConfiguration struct {
	Name          string                `json:"name"`
	Path          string                `json:"path"`
	Configuration *runtime.RawExtension `json:"configuration"`
}

// unversioned are plugins whose configuration has no apiVersion, and which may be the
// whole file.
func unversioned() []string { return []string{"ImagePolicyWebhook", "PodNodeSelector"} }

// Plugins are the configurations of plugins. The zero value has none.
type Plugins struct {
	byName map[string]pluginConfiguration
	order  []string
}

// Read reads a file; "" is one that configures nothing. Enabled are the names of the
// plugins that run.
func Read(file string, enabled []string) (*Plugins, error) {
	p := &Plugins{byName: map[string]pluginConfiguration{}}
	if file == "" {
		return p, nil
	}
	raw, err := os.ReadFile(file)
	if err != nil {
		return nil, fmt.Errorf("unable to read admission control configuration from %q [%w]", file, err)
	}
	if hasNoKind(raw) {
		for _, name := range unversioned() {
			if slices.Contains(enabled, name) {
				p.add(pluginConfiguration{Name: name, Path: file})
			}
		}
		if len(p.order) > 0 {
			return p, nil
		}
	}
	var c admissionConfiguration
	if _, err := configfile.DecodeAs(raw, kinds(), &c); err != nil {
		return nil, fmt.Errorf("unable to decode admission control configuration from %q: %w", file, err)
	}
	for _, plugin := range c.Plugins {
		if plugin.Path != "" && !filepath.IsAbs(plugin.Path) {
			plugin.Path = filepath.Join(filepath.Dir(file), plugin.Path)
		}
		p.add(plugin)
	}
	return p, nil
}

// hasNoKind reports whether a document is a configuration of one of the plugins whose
// documents have neither apiVersion nor kind.
func hasNoKind(raw []byte) bool {
	var header metav1.TypeMeta
	return yaml.Unmarshal(raw, &header) == nil && header == metav1.TypeMeta{}
}

// add keeps the first configuration of a plugin.
func (p *Plugins) add(c pluginConfiguration) {
	if _, ok := p.byName[c.Name]; ok {
		return
	}
	p.byName[c.Name] = c
	p.order = append(p.order, c.Name)
}

// For returns the document that configures a plugin, nil if there is none.
func (p *Plugins) For(name string) ([]byte, error) {
	if p == nil {
		return nil, nil
	}
	c, ok := p.byName[name]
	switch {
	case !ok:
		return nil, nil
	case c.Configuration != nil:
		return c.Configuration.Raw, nil
	case c.Path == "":
		return nil, nil
	}
	raw, err := os.ReadFile(c.Path)
	if err != nil {
		return nil, fmt.Errorf("couldn't open admission plugin configuration %s: %w", c.Path, err)
	}
	return raw, nil
}

// Warn logs the configurations that nobody reads: of plugins that take none, that do not
// run or that do not exist.
func (p *Plugins) Warn(readers []string) {
	if p == nil {
		return
	}
	for _, name := range p.order {
		if !slices.Contains(readers, name) {
			klog.InfoS("The admission configuration is for a plugin that does not read one", "plugin", name)
		}
	}
}

// Decode reads a document of one of the kinds, whose fields are the same; an absent one
// leaves into as it is.
func Decode(raw []byte, into any, kinds ...schema.GroupVersionKind) error {
	if len(raw) == 0 {
		return nil
	}
	_, err := configfile.DecodeAs(raw, kinds, into)
	return err
}

// DecodeUnversioned reads a document that has no kind. Unknown fields are errors.
func DecodeUnversioned(raw []byte, into any) error {
	if len(raw) == 0 {
		return errors.New("no config specified")
	}
	return yaml.UnmarshalStrict(raw, into)
}
