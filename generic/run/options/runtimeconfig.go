package options

import (
	"fmt"
	"maps"
	"slices"
	"strconv"
	"strings"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
)

// RuntimeConfig is the value of --runtime-config, which enables and disables API versions.
type RuntimeConfig struct {
	set map[string]bool
}

var _ pflag.Value = (*RuntimeConfig)(nil)

// Keys of --runtime-config that cover many versions.
const (
	apiAll   = "api/all"
	apiGA    = "api/ga"
	apiBeta  = "api/beta"
	apiAlpha = "api/alpha"
)

// Set implements pflag.Value: key=true|false, comma separated; a key without a value means true.
func (c *RuntimeConfig) Set(list string) error {
	for item := range strings.SplitSeq(list, ",") {
		item = strings.TrimSpace(item)
		if item == "" {
			continue
		}
		key, value, has := strings.Cut(item, "=")
		key = strings.TrimSpace(key)
		on := true
		if has && strings.TrimSpace(value) != "" {
			var err error
			if on, err = strconv.ParseBool(strings.TrimSpace(value)); err != nil {
				return fmt.Errorf("invalid value of --runtime-config %s: %q is not true or false", key, value)
			}
		}
		if _, err := schema.ParseGroupVersion(key); err != nil && strings.Count(key, "/") != 2 {
			return fmt.Errorf("--runtime-config: %q is not a group and version such as apps/v1", key)
		}
		if c.set == nil {
			c.set = map[string]bool{}
		}
		c.set[key] = on
	}
	return nil
}

// String implements pflag.Value.
func (c *RuntimeConfig) String() string {
	var items []string
	for key, on := range c.set {
		items = append(items, fmt.Sprintf("%s=%t", key, on))
	}
	slices.Sort(items)
	return strings.Join(items, ",")
}

// Type implements pflag.Value.
func (c *RuntimeConfig) Type() string { return "mapStringString" }

// Validate returns kube-apiserver's error for each invalid key. groups and versions report whether an API group or
// version exists.
func (c *RuntimeConfig) Validate(groups func(string) bool, versions func(schema.GroupVersion) bool) []error {
	if on, ok := c.set[apiAll]; ok && !on && len(c.set) == 1 {
		return []error{fmt.Errorf("invalid key with only %v=false", apiAll)}
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(c.set)) {
		switch key {
		case apiAll, apiGA, apiBeta, apiAlpha:
			continue
		}
		if gv := versionOf(key); gv.Group != "" && !groups(gv.Group) {
			errs = append(errs, fmt.Errorf("unknown api groups %s", gv.Group))
		} else if !versions(gv) {
			errs = append(errs, fmt.Errorf("group version %s that has not been registered", gv))
		}
	}
	return errs
}

// versionOf returns the version in a key: v1, v1/resource, group/version or group/version/resource.
func versionOf(key string) schema.GroupVersion {
	parts := strings.SplitN(key, "/", 3)
	if len(parts) == 1 || parts[0] == "v1" {
		return schema.GroupVersion{Version: parts[0]}
	}
	return schema.GroupVersion{Group: parts[0], Version: parts[1]}
}

// Serves reports whether a resource is enabled in a version. The most specific setting applies: the resource, the
// version, its stability, all. By default only stable versions are enabled. Subresources follow their resource.
func (c *RuntimeConfig) Serves(gv schema.GroupVersion, resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	stability := apiGA
	switch {
	case strings.Contains(gv.Version, "alpha"):
		stability = apiAlpha
	case strings.Contains(gv.Version, "beta"):
		stability = apiBeta
	}
	for _, key := range []string{gv.String() + "/" + resource, gv.String(), stability, apiAll} {
		if on, ok := c.set[key]; ok {
			return on
		}
	}
	return stability == apiGA
}

// Names reports whether a version, or a resource in it, is enabled by name.
func (c *RuntimeConfig) Names(gv schema.GroupVersion, resource string) bool {
	return c.set[gv.String()] || c.set[gv.String()+"/"+resource]
}

// Named returns the sorted versions that are enabled by name.
func (c *RuntimeConfig) Named() []schema.GroupVersion {
	var named []schema.GroupVersion
	for _, key := range slices.Sorted(maps.Keys(c.set)) {
		if c.set[key] && !strings.HasPrefix(key, "api/") {
			named = append(named, versionOf(key))
		}
	}
	return slices.Compact(named)
}
