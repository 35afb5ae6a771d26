package encryption

import (
	"encoding/base64"
	"fmt"
	"net/url"
	"slices"
	"strings"

	"k8s.io/apimachinery/pkg/util/validation/field"
)

var (
	aesKeySizes       = []int{16, 24, 32}
	secretboxKeySizes = []int{32}
)

// validate validates a configuration.
func validate(c *Configuration) field.ErrorList {
	root := field.NewPath("resources")
	if len(c.Resources) == 0 {
		return field.ErrorList{field.Required(root, "at least one resource with its providers is required")}
	}
	var errs field.ErrorList
	v := &validator{kmsNames: map[string]bool{}, wildcards: map[string]bool{}}
	for i := range c.Resources {
		r, path := &c.Resources[i], root.Index(i)
		errs = append(errs, validateResources(r.Resources, path.Child("resources"))...)
		errs = append(errs, v.masked(r.Resources, path.Child("resources"))...)
		if len(r.Providers) == 0 {
			errs = append(errs, field.Required(path.Child("providers"), "at least one provider is required"))
		}
		for j := range r.Providers {
			errs = append(errs, v.provider(&r.Providers[j], path.Child("providers").Index(j))...)
		}
	}
	return errs
}

// validator collects the values that must be unique in the file.
type validator struct {
	kmsNames  map[string]bool // by name, whether a provider of v2 has it
	wildcards map[string]bool // of former entries
}

// masked returns an error for each resource that an earlier entry's wildcard covers, whose providers have no effect.
func (v *validator) masked(resources []string, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	for i, r := range resources {
		_, group, _ := strings.Cut(r, ".")
		for _, wildcard := range []string{"*.*", "*." + group} {
			if v.wildcards[wildcard] {
				errs = append(errs, field.Invalid(path.Index(i), r,
					fmt.Sprintf("resource %q is masked by earlier rule %q", r, wildcard)))
				break
			}
		}
	}
	for _, r := range resources {
		v.wildcards[r] = v.wildcards[r] || isWildcard(r)
	}
	return errs
}

func (v *validator) provider(p *ProviderConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	n := 0
	keys := func(name string, k *KeysConfiguration, sizes []int) {
		if k != nil {
			n++
			errs = append(errs, validateKeys(k.Keys, sizes, path.Child(name, "keys"))...)
		}
	}
	keys("aesgcm", p.AESGCM, aesKeySizes)
	keys("aescbc", p.AESCBC, aesKeySizes)
	keys("secretbox", p.Secretbox, secretboxKeySizes)
	if p.Identity != nil {
		n++
	}
	if p.KMS != nil {
		n++
		errs = append(errs, v.kms(p.KMS, path.Child("kms"))...)
	}
	if n == 0 {
		errs = append(errs, field.Required(path,
			"provider does not contain any of the expected providers: KMS, AESGCM, AESCBC, Secretbox, Identity"))
	} else if n > 1 {
		errs = append(errs, field.Forbidden(path,
			"more than one provider specified in a single element, should split into different list elements"))
	}
	return errs
}

func validateKeys(keys []Key, sizes []int, path *field.Path) field.ErrorList {
	if len(keys) == 0 {
		return field.ErrorList{field.Required(path, "at least one key is required")}
	}
	var errs field.ErrorList
	for i, k := range keys {
		name, secret := path.Index(i).Child("name"), path.Index(i).Child("secret")
		switch {
		case k.Name == "":
			errs = append(errs, field.Required(name, "a key needs a name"))
		case strings.Contains(k.Name, ":"):
			errs = append(errs, field.Invalid(name, k.Name, "the name of a key cannot contain a colon"))
		case slices.ContainsFunc(keys[:i], func(o Key) bool { return o.Name == k.Name }):
			errs = append(errs, field.Duplicate(name, k.Name))
		}
		// Messages must not contain secrets.
		if raw, err := base64.StdEncoding.DecodeString(k.Secret); k.Secret == "" {
			errs = append(errs, field.Required(secret, "a key needs a secret"))
		} else if err != nil {
			errs = append(errs, field.Invalid(secret, "REDACTED", "secret must be base64 encoded"))
		} else if !slices.Contains(sizes, len(raw)) {
			errs = append(errs, field.Invalid(secret, "REDACTED",
				fmt.Sprintf("secret is not of the expected length, got %d, expected one of %v", len(raw), sizes)))
		}
	}
	return errs
}

func (v *validator) kms(k *KMSConfiguration, path *field.Path) field.ErrorList {
	var errs field.ErrorList
	version := k.version()
	if version != "v1" && version != "v2" {
		errs = append(errs, field.NotSupported(path.Child("apiVersion"), k.APIVersion, []string{"v1", "v2"}))
	}
	switch {
	case k.Name == "":
		errs = append(errs, field.Required(path.Child("name"), "mandatory field, a provider needs a name"))
	case strings.Contains(k.Name, ":"):
		errs = append(errs, field.Invalid(path.Child("name"), k.Name, "the name of a provider cannot contain a colon"))
	case v.duplicate(k.Name, version):
		errs = append(errs, field.Duplicate(path.Child("name"), k.Name))
	}
	v.kmsNames[k.Name] = v.kmsNames[k.Name] || version == "v2"
	if k.Timeout != nil && k.Timeout.Duration <= 0 {
		errs = append(errs, field.Invalid(path.Child("timeout"), k.Timeout.Duration.String(),
			"timeout should be a positive value"))
	}
	switch {
	case k.CacheSize == nil:
	case version != "v1":
		errs = append(errs, field.Invalid(path.Child("cachesize"), *k.CacheSize, "cachesize is not supported in v2"))
	case *k.CacheSize == 0:
		errs = append(errs, field.Invalid(path.Child("cachesize"), *k.CacheSize,
			"cachesize should be a positive value, or negative to disable"))
	}
	if k.Endpoint == "" {
		return append(errs, field.Required(path.Child("endpoint"), "mandatory field, where the plugin listens"))
	}
	if _, err := socketAddress(k.Endpoint); err != nil {
		errs = append(errs, field.Invalid(path.Child("endpoint"), k.Endpoint, err.Error()))
	}
	return errs
}

// duplicate reports whether another provider has the name. Only providers of v1 may share one.
func (v *validator) duplicate(name, version string) bool {
	ofV2, known := v.kmsNames[name]
	return known && (ofV2 || version == "v2")
}

// socketAddress returns the address of a plugin's socket for package net. That of an abstract socket begins
// with "@".
func socketAddress(endpoint string) (string, error) {
	u, err := url.Parse(endpoint)
	switch {
	case err != nil:
		return "", fmt.Errorf("invalid endpoint for kms provider: %w", err)
	case u.Scheme != "unix":
		return "", fmt.Errorf("unsupported scheme %q for kms provider, only unix is supported", u.Scheme)
	case u.Host != "" || len(u.Path) < 2:
		return "", fmt.Errorf("the endpoint must be unix:// and an absolute path")
	case strings.HasPrefix(u.Path, "/@"):
		return u.Path[1:], nil
	}
	return u.Path, nil
}
