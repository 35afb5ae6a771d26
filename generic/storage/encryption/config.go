package encryption

import (
	"cmp"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Configuration is an EncryptionConfiguration of apiserver.config.k8s.io/v1.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	// Resources are tried in order. The first entry that matches a resource, by name or wildcard, applies.
	Resources []ResourceConfiguration `json:"resources"`
}

// ResourceConfiguration configures the encryption of some resources.
type ResourceConfiguration struct {
	// Resources are "secrets", "widgets.example.com", "*." for the core group,
	// "*.example.com" for a group, or "*.*" for everything.
	Resources []string `json:"resources"`
	// Providers decrypt values: the first one that can. The first provider encrypts.
	Providers []ProviderConfiguration `json:"providers"`
}

// ProviderConfiguration is one provider. Exactly one field is set.
type ProviderConfiguration struct {
	AESGCM    *KeysConfiguration     `json:"aesgcm,omitempty"`
	AESCBC    *KeysConfiguration     `json:"aescbc,omitempty"`
	Secretbox *KeysConfiguration     `json:"secretbox,omitempty"`
	Identity  *IdentityConfiguration `json:"identity,omitempty"`
	KMS       *KMSConfiguration      `json:"kms,omitempty"`
}

// KeysConfiguration has the keys of a provider. The first one encrypts.
type KeysConfiguration struct {
	Keys []Key `json:"keys"`
}

// Key is a named key.
type Key struct {
	Name string `json:"name"`
	// Secret is the key, encoded in base64.
	Secret string `json:"secret"`
}

// IdentityConfiguration stores values without encryption.
type IdentityConfiguration struct{}

// KMSConfiguration configures a KMS plugin, which encrypts the data keys.
type KMSConfiguration struct {
	// APIVersion is the version of the plugin's protocol, v1 or v2. It defaults to v1.
	APIVersion string `json:"apiVersion,omitempty"`
	Name       string `json:"name"`
	// CacheSize is the number of cached data keys of v1. It defaults to 1000; a negative value disables the
	// cache.
	CacheSize *int32 `json:"cachesize,omitempty"`
	// Endpoint is the plugin's socket: "unix:///run/kms.sock", or "unix:///@name" for an abstract socket.
	Endpoint string `json:"endpoint"`
	// Timeout limits a call. It defaults to 3 seconds.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

func (c *KMSConfiguration) version() string { return cmp.Or(c.APIVersion, "v1") }

const (
	configAPIVersion = "apiserver.config.k8s.io/v1"
	configKind       = "EncryptionConfiguration"
	// maxConfigBytes limits the size of the file.
	maxConfigBytes = 3 << 20
)

// readFile reads a configuration file.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("error reading encryption provider configuration file: %w", err)
	}
	if info.Size() > maxConfigBytes {
		return nil, fmt.Errorf("encryption provider configuration file %q has %d bytes, more than %d", path, info.Size(),
			maxConfigBytes)
	}
	data, err := os.ReadFile(path)
	if err != nil {
		return nil, fmt.Errorf("error reading encryption provider configuration file %q: %w", path, err)
	}
	if len(data) == 0 {
		return nil, fmt.Errorf("encryption provider configuration file %q is empty", path)
	}
	return data, nil
}

// Parse decodes a configuration strictly from YAML or JSON, and validates it.
func Parse(data []byte) (*Configuration, error) {
	c := &Configuration{}
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		return nil, fmt.Errorf("error decoding encryption provider configuration: %w", err)
	}
	former := c.APIVersion == "v1" && c.Kind == "EncryptionConfig" // of alpha releases; kube-apiserver reads it
	if !former && (c.APIVersion != configAPIVersion || c.Kind != configKind) {
		return nil, fmt.Errorf("encryption provider configuration is of apiVersion %q and kind %q, want %s and %s",
			c.APIVersion, c.Kind, configAPIVersion, configKind)
	}
	if errs := validate(c); len(errs) > 0 {
		return nil, fmt.Errorf("error while validating encryption provider configuration: %w", errs.ToAggregate())
	}
	return c, nil
}
