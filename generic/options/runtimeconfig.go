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

// RuntimeConfig is the value of --runtime-config: which API versions are served.
type RuntimeConfig struct {
	set map[string]bool
}

var _ pflag.Value = (*RuntimeConfig)(nil)

// Keys of --runtime-config that mean many versions.
const (
	apiAll   = "api/all"
	apiGA    = "api/ga"
	apiBeta  = "api/beta"
	apiAlpha = "api/alpha"
)

// Set implements pflag.Value: key=true|false, comma separated; a key alone is on.
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
			return fmt.Errorf("--runtime-config: %q is no group and version such as apps/v1", key)
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
func (c *RuntimeConfig) Type() string { return "group/version=true|false,..." }

// Validate returns what is wrong; groups reports whether an API group exists.
func (c *RuntimeConfig) Validate(groups func(string) bool) []error {
	if on, ok := c.set[apiAll]; ok && !on && len(c.set) == 1 {
		return []error{fmt.Errorf("--runtime-config: invalid key with only %v=false", apiAll)}
	}
	var errs []error
	for _, key := range slices.Sorted(maps.Keys(c.set)) {
		group, _, found := strings.Cut(key, "/")
		if !found || group == "api" {
			group = ""
		}
		if group != "" && !groups(group) {
			errs = append(errs, fmt.Errorf("--runtime-config: unknown api groups %s", group))
		}
	}
	return errs
}

// Serves reports whether a version is served: as set itself, or as all of its
// stability, or as all, or else by default, as what is stable is.
func (c *RuntimeConfig) Serves(gv schema.GroupVersion) bool {
	if on, ok := c.set[gv.String()]; ok {
		return on
	}
	stability := apiGA
	switch {
	case strings.Contains(gv.Version, "alpha"):
		stability = apiAlpha
	case strings.Contains(gv.Version, "beta"):
		stability = apiBeta
	}
	for _, key := range []string{stability, apiAll} {
		if on, ok := c.set[key]; ok {
			return on
		}
	}
	return stability == apiGA
}

// ServesResource reports whether a resource of a served version is served.
func (c *RuntimeConfig) ServesResource(gv schema.GroupVersion, resource string) bool {
	resource, _, _ = strings.Cut(resource, "/")
	on, ok := c.set[gv.String()+"/"+resource]
	return on || !ok
}
