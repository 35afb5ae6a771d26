package manifest

import (
	"context"
	"encoding/json"
	"fmt"
	"reflect"
	"strings"

	admissionv1 "k8s.io/api/admissionregistration/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/configfile"
)

// Suffix ends the names of all objects in manifests. The API rejects objects with such names.
const Suffix = ".static.k8s.io"

// Objects are the objects of a plugin's manifests.
type Objects struct {
	ValidatingWebhooks []*admissionv1.ValidatingWebhookConfiguration
	MutatingWebhooks   []*admissionv1.MutatingWebhookConfiguration
	ValidatingPolicies []*admissionv1.ValidatingAdmissionPolicy
	ValidatingBindings []*admissionv1.ValidatingAdmissionPolicyBinding
	MutatingPolicies   []*admissionv1.MutatingAdmissionPolicy
	MutatingBindings   []*admissionv1.MutatingAdmissionPolicyBinding
}

// kindsOf returns the kinds that the manifests of a plugin may contain, and their name in error messages.
func kindsOf(plugin string) (kinds []runtime.Object, what string) {
	switch plugin {
	case "ValidatingAdmissionWebhook":
		return []runtime.Object{&admissionv1.ValidatingWebhookConfiguration{}}, "webhook"
	case "MutatingAdmissionWebhook":
		return []runtime.Object{&admissionv1.MutatingWebhookConfiguration{}}, "webhook"
	case "ValidatingAdmissionPolicy":
		return []runtime.Object{&admissionv1.ValidatingAdmissionPolicy{}, &admissionv1.ValidatingAdmissionPolicyBinding{}},
			"policy"
	case "MutatingAdmissionPolicy":
		return []runtime.Object{&admissionv1.MutatingAdmissionPolicy{}, &admissionv1.MutatingAdmissionPolicyBinding{}},
			"policy"
	}
	return nil, ""
}

// Source loads the manifests of one plugin from a directory.
type Source struct {
	// Plugin is the name of the plugin.
	Plugin string
	// Dir is the absolute path of the directory.
	Dir string
	// Complete applies the defaults of an object and returns its validation errors.
	Complete func(runtime.Object) error
	// Use applies the objects of a successful load. They replace those of the last call.
	Use func(*Objects)
	// Metrics counts reloads; nil disables metrics.
	Metrics *configfile.Metrics

	current []byte
}

// Start loads the directory. Its error names the first invalid file.
func (s *Source) Start() error {
	content, err := read(s.Dir)
	if err == nil {
		err = s.load(content)
	}
	s.Metrics.Reloaded(err)
	s.current = content
	return err
}

// Run reloads the directory when it changes, until ctx ends. It must be called after Start.
func (s *Source) Run(ctx context.Context) {
	r := configfile.Reloader{
		Path: s.Dir, Read: read, Metrics: s.Metrics,
		Load: func(_ context.Context, content []byte) error { return s.load(content) },
	}
	r.Run(ctx, s.current)
}

// load decodes and applies the content of the directory. On an error nothing is applied.
func (s *Source) load(content []byte) error {
	kinds, what := kindsOf(s.Plugin)
	var files []file
	if len(content) > 0 {
		if err := json.Unmarshal(content, &files); err != nil {
			return err
		}
	}
	c := collection{source: s, kinds: kinds, seen: map[reflect.Type]map[string]string{}}
	err := c.addAll(files)
	if err == nil {
		err = c.checkBindings()
	}
	if err != nil {
		return fmt.Errorf("failed to load static %s manifests from %q: %w", what, s.Dir, err)
	}
	s.Use(&c.objects)
	klog.InfoS("Loaded admission manifests", "plugin", s.Plugin, "dir", s.Dir, "objects", c.count)
	return nil
}

// collection is the objects of a directory while it is loaded.
type collection struct {
	source  *Source
	kinds   []runtime.Object
	objects Objects
	seen    map[reflect.Type]map[string]string // the file of each name, by type
	count   int
}

func (c *collection) addAll(files []file) error {
	d, err := decoder()
	if err != nil {
		return err
	}
	for i := range files {
		path := files[i].Path
		if err := decode(d, files[i].Content, func(obj runtime.Object) error { return c.add(path, obj) }); err != nil {
			return fmt.Errorf("error loading %s: %w", path, err)
		}
	}
	return nil
}

func (c *collection) add(path string, obj runtime.Object) error {
	known := false
	for _, k := range c.kinds {
		known = known || reflect.TypeOf(k) == reflect.TypeOf(obj)
	}
	o, ok := obj.(metav1.Object)
	if !known || !ok {
		return fmt.Errorf("unsupported resource type %T", obj)
	}
	if err := c.source.Complete(obj); err != nil {
		return fmt.Errorf("%s %q: %w", reflect.TypeOf(obj).Elem().Name(), o.GetName(), err)
	}
	if err := c.name(path, obj, o.GetName()); err != nil {
		return err
	}
	c.count++
	return c.keep(path, obj)
}

// name returns an error unless the name ends in Suffix and is unique within its type.
func (c *collection) name(path string, obj runtime.Object, name string) error {
	if !strings.HasSuffix(name, Suffix) {
		return fmt.Errorf("%q in file %q must have a name ending with %q", name, path, Suffix)
	}
	names := c.seen[reflect.TypeOf(obj)]
	if names == nil {
		names = map[string]string{}
		c.seen[reflect.TypeOf(obj)] = names
	}
	if first, ok := names[name]; ok {
		return fmt.Errorf("duplicate name %q found in file %q (previously seen in %q)", name, path, first)
	}
	names[name] = path
	return nil
}

// keep adds an object. It rejects objects that depend on the API.
func (c *collection) keep(path string, obj runtime.Object) error {
	all := &c.objects
	switch o := obj.(type) {
	case *admissionv1.ValidatingWebhookConfiguration:
		all.ValidatingWebhooks = append(all.ValidatingWebhooks, o)
		for i := range o.Webhooks {
			if err := urlOnly(&o.Webhooks[i].ClientConfig, o.Webhooks[i].Name, o.Name, path); err != nil {
				return err
			}
		}
	case *admissionv1.MutatingWebhookConfiguration:
		all.MutatingWebhooks = append(all.MutatingWebhooks, o)
		for i := range o.Webhooks {
			if err := urlOnly(&o.Webhooks[i].ClientConfig, o.Webhooks[i].Name, o.Name, path); err != nil {
				return err
			}
		}
	case *admissionv1.ValidatingAdmissionPolicy:
		all.ValidatingPolicies = append(all.ValidatingPolicies, o)
		return noParams(o.Spec.ParamKind == nil, "ValidatingAdmissionPolicy", o.Name, "paramKind")
	case *admissionv1.MutatingAdmissionPolicy:
		all.MutatingPolicies = append(all.MutatingPolicies, o)
		return noParams(o.Spec.ParamKind == nil, "MutatingAdmissionPolicy", o.Name, "paramKind")
	case *admissionv1.ValidatingAdmissionPolicyBinding:
		all.ValidatingBindings = append(all.ValidatingBindings, o)
		return noParams(o.Spec.ParamRef == nil, "binding", o.Name, "paramRef")
	case *admissionv1.MutatingAdmissionPolicyBinding:
		all.MutatingBindings = append(all.MutatingBindings, o)
		return noParams(o.Spec.ParamRef == nil, "binding", o.Name, "paramRef")
	}
	return nil
}

func urlOnly(c *admissionv1.WebhookClientConfig, webhook, configuration, path string) error {
	if c.Service != nil {
		return fmt.Errorf("webhook %q in %q (file %q): clientConfig.service is not supported for static manifests; use clientConfig.url instead", webhook, configuration, path)
	}
	return nil
}

func noParams(none bool, kind, name, field string) error {
	if none {
		return nil
	}
	return fmt.Errorf("%s %q: spec.%s is not supported for static manifests", kind, name, field)
}

// checkBindings returns an error unless the policies of all bindings are in manifests.
func (c *collection) checkBindings() error {
	check := func(binding, policy string, of runtime.Object) error {
		if _, ok := c.seen[reflect.TypeOf(of)][policy]; !ok {
			return fmt.Errorf("binding %q references policy %q which does not exist in the manifest directory", binding, policy)
		}
		return nil
	}
	for _, b := range c.objects.ValidatingBindings {
		if err := check(b.Name, b.Spec.PolicyName, &admissionv1.ValidatingAdmissionPolicy{}); err != nil {
			return err
		}
	}
	for _, b := range c.objects.MutatingBindings {
		if err := check(b.Name, b.Spec.PolicyName, &admissionv1.MutatingAdmissionPolicy{}); err != nil {
			return err
		}
	}
	return nil
}
