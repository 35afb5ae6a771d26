package encryption

import (
	"cmp"
	"fmt"
	"os"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/yaml"
)

// Configuration is the EncryptionConfiguration of apiserver.config.k8s.io/v1.
type Configuration struct {
	metav1.TypeMeta `json:",inline"`
	// Resources are looked through in order: the first entry that names a
	// resource, itself or by a wildcard, says how it is stored.
	Resources []ResourceConfiguration `json:"resources"`
}

// ResourceConfiguration says how some resources are stored.
type ResourceConfiguration struct {
	// Resources are "secrets", "widgets.example.com", "*." for the core group,
	// "*.example.com" for a group, or "*.*" for everything.
	Resources []string `json:"resources"`
	// Providers read what is stored, the first that can; the first one writes.
	Providers []ProviderConfiguration `json:"providers"`
}

// ProviderConfiguration is one provider: one of its fields is set.
type ProviderConfiguration struct {
	AESGCM    *KeysConfiguration     `json:"aesgcm,omitempty"`
	AESCBC    *KeysConfiguration     `json:"aescbc,omitempty"`
	Secretbox *KeysConfiguration     `json:"secretbox,omitempty"`
	Identity  *IdentityConfiguration `json:"identity,omitempty"`
	KMS       *KMSConfiguration      `json:"kms,omitempty"`
}

// KeysConfiguration are a provider's keys, of which the first one writes.
type KeysConfiguration struct {
	Keys []Key `json:"keys"`
}

// Key is a named key.
type Key struct {
	Name string `json:"name"`
	// Secret is the key in base64.
	Secret string `json:"secret"`
}

// IdentityConfiguration stores values as they are.
type IdentityConfiguration struct{}

// KMSConfiguration is a plugin that keeps the key which encrypts the others.
type KMSConfiguration struct {
	// APIVersion is that of the plugin's protocol, v1 or v2: v1 unless set.
	APIVersion string `json:"apiVersion,omitempty"`
	Name       string `json:"name"`
	// CacheSize is how many opened keys v1 keeps: 1000 unless set, and none if negative.
	CacheSize *int32 `json:"cachesize,omitempty"`
	// Endpoint is the plugin's socket: "unix:///run/kms.sock", or
	// "unix:///@name" for an abstract one.
	Endpoint string `json:"endpoint"`
	// Timeout of a call; 3 seconds unless set.
	Timeout *metav1.Duration `json:"timeout,omitempty"`
}

func (c *KMSConfiguration) version() string { return cmp.Or(c.APIVersion, "v1") }

const (
	configAPIVersion = "apiserver.config.k8s.io/v1"
	configKind       = "EncryptionConfiguration"
	// maxConfigBytes bounds the file.
	maxConfigBytes = 3 << 20
)

// readFile reads a configuration file, which may be changing at the time.
func readFile(path string) ([]byte, error) {
	info, err := os.Stat(path)
	if err != nil {
		return nil, fmt.Errorf("error reading encryption provider configuration file: %w", err)
	}
	if info.Size() > maxConfigBytes {
		return nil, fmt.Errorf("encryption provider configuration file %q has %d bytes, more than %d", path, info.Size(), maxConfigBytes)
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

// Parse decodes a configuration in YAML or JSON strictly, and validates it.
func Parse(data []byte) (*Configuration, error) {
	c := &Configuration{}
	if err := yaml.UnmarshalStrict(data, c); err != nil {
		return nil, fmt.Errorf("error decoding encryption provider configuration: %w", err)
	}
	if c.APIVersion != configAPIVersion || c.Kind != configKind {
		return nil, fmt.Errorf("encryption provider configuration is of apiVersion %q and kind %q, want %s and %s",
			c.APIVersion, c.Kind, configAPIVersion, configKind)
	}
	if errs := validate(c); len(errs) > 0 {
		return nil, fmt.Errorf("error while validating encryption provider configuration: %w", errs.ToAggregate())
	}
	return c, nil
}
