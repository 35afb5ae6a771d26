package triplane

import (
	"errors"
	"fmt"
	"slices"
	"strings"

	admissionregistrationv1 "k8s.io/api/admissionregistration/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/guard/admission/configured"
	authzconfig "triplane.dev/generic/guard/authorization/configuration"
)

// reader is a part of the server that follows resources through the API, and cannot run without them.
type reader struct {
	name      string
	runs      bool
	version   schema.GroupVersion
	resources []string
	instead   string // what runs the server without the part; "" where nothing does
}

// checkServed returns an error that names the parts of the server whose resources --runtime-config turns off. With such
// a part, a server would start and never be ready.
func checkServed(o *Options, authorizers []string) error {
	plugins := o.Admission.Enabled()
	plugin := func(name string, resources ...string) reader {
		return reader{"the admission plugin " + name, slices.Contains(plugins, name),
			admissionregistrationv1.SchemeGroupVersion, resources,
			"--disable-admission-plugins=" + name}
	}
	var errs []error
	for _, r := range []reader{
		{"the aggregator", true, apiregistrationv1.SchemeGroupVersion, []string{"apiservices"}, ""},
		{"RBAC", slices.Contains(authorizers, authzconfig.RBAC), rbacv1.SchemeGroupVersion,
			[]string{"clusterroles", "clusterrolebindings", "roles", "rolebindings"},
			"--authorization-mode without RBAC"},
		plugin(configured.MutatingWebhook, "mutatingwebhookconfigurations"),
		plugin(configured.ValidatingWebhook, "validatingwebhookconfigurations"),
		plugin(configured.ValidatingPolicy, "validatingadmissionpolicies", "validatingadmissionpolicybindings"),
	} {
		if r.runs {
			errs = append(errs, r.check(o.Kube.RuntimeConfig.Serves))
		}
	}
	return errors.Join(errs...)
}

// check returns an error unless all of the resources are served.
func (r *reader) check(serves func(schema.GroupVersion, string) bool) error {
	off := slices.DeleteFunc(slices.Clone(r.resources), func(resource string) bool {
		return serves(r.version, resource)
	})
	if len(off) == 0 {
		return nil
	}
	remedy := fmt.Sprintf("add %s=true", r.version)
	if r.instead != "" {
		remedy += " or use " + r.instead
	}
	return fmt.Errorf("--runtime-config turns off %s of %s, which %s reads: %s", strings.Join(off, ", "), r.version,
		r.name, remedy)
}
