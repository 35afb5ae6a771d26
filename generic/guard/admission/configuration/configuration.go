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

	"triplane.dev/generic/base/configfile"
)

// kinds returns the versions of AdmissionConfiguration, which all have the same fields.
func kinds() []schema.GroupVersionKind {
	return []schema.GroupVersionKind{
		{Group: configfile.Group, Version: "v1", Kind: "AdmissionConfiguration"},
		{Group: "apiserver.k8s.io", Version: "v1alpha1", Kind: "AdmissionConfiguration"},
	}
}

// admissionConfiguration is the content of --admission-control-config-file.
type admissionConfiguration struct {
	Plugins []pluginConfiguration `json:"plugins"`
}

// pluginConfiguration configures one plugin, inline or with the path of a file relative to this one.
type pluginConfiguration struct {
	Name          string                `json:"name"`
	Path          string                `json:"path"`
	Configuration *runtime.RawExtension `json:"configuration"`
}

// unversioned returns the plugins whose configuration has no apiVersion and may itself be the whole file.
func unversioned() []string { return []string{"ImagePolicyWebhook", "PodNodeSelector"} }

// Plugins holds the configurations of plugins by name. The zero Plugins is empty.
type Plugins struct {
	byName map[string]pluginConfiguration
	order  []string
}

// Read reads a configuration file; "" results in empty Plugins. enabled lists the names of the plugins that
// run.
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

// hasNoKind reports whether a document has neither apiVersion nor kind.
func hasNoKind(raw []byte) bool {
	var header metav1.TypeMeta
	return yaml.Unmarshal(raw, &header) == nil && header == metav1.TypeMeta{}
}

// add adds a configuration, unless the plugin already has one.
func (p *Plugins) add(c pluginConfiguration) {
	if _, ok := p.byName[c.Name]; ok {
		return
	}
	p.byName[c.Name] = c
	p.order = append(p.order, c.Name)
}

// For returns the configuration document of a plugin, or nil if it has none.
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

// Without returns the configurations of all plugins but the named ones.
func (p *Plugins) Without(names ...string) *Plugins {
	left := &Plugins{byName: map[string]pluginConfiguration{}}
	for _, name := range p.order {
		if !slices.Contains(names, name) {
			left.add(p.byName[name])
		}
	}
	return left
}

// Warn logs the configurations that have no effect, because their plugin is not in readers.
func (p *Plugins) Warn(readers []string) {
	if p == nil {
		return
	}
	for _, name := range p.order {
		if !slices.Contains(readers, name) {
			klog.InfoS("Ignored admission configuration, the plugin does not read one", "plugin", name)
		}
	}
}

// Decode decodes a document of one of the kinds, which share one set of fields. An empty document leaves into
// unchanged.
func Decode(raw []byte, into any, kinds ...schema.GroupVersionKind) error {
	if len(raw) == 0 {
		return nil
	}
	_, err := configfile.DecodeAs(raw, kinds, into)
	return err
}

// DecodeLenient is Decode for kinds whose unknown fields are logged and have no effect.
func DecodeLenient(raw []byte, into any, kinds ...schema.GroupVersionKind) error {
	err := Decode(raw, into, kinds...)
	if runtime.IsStrictDecodingError(err) {
		logIgnored(err)
		return nil
	}
	return err
}

// DecodeUnversioned decodes a document without a kind. Unknown fields are logged and have no effect.
func DecodeUnversioned(raw []byte, into any) error {
	if len(raw) == 0 {
		return errors.New("no config specified")
	}
	strict := yaml.UnmarshalStrict(raw, into)
	if strict == nil {
		return nil
	}
	if err := yaml.Unmarshal(raw, into); err != nil {
		return err
	}
	logIgnored(strict)
	return nil
}

func logIgnored(err error) {
	klog.InfoS("Ignored fields of an admission configuration", "err", err)
}
