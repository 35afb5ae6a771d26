package bootstrap

import (
	"bytes"
	"context"
	"encoding/json"
	"encoding/pem"
	"maps"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"triplane.dev/kubeapi/group"
)

// AuthenticationInfoHook is the name of the hook of this file.
const AuthenticationInfoHook = "start-cluster-authentication-info-controller"

// AuthenticationInfoName is the name of the config map of this file.
const AuthenticationInfoName = "extension-apiserver-authentication"

// AuthenticationInfo is what external API servers have to know to authenticate as
// this one does. Certificates are PEM.
type AuthenticationInfo struct {
	ClientCA              []byte
	RequestHeaderCA       []byte
	AllowedNames          []string
	UsernameHeaders       []string
	UIDHeaders            []string
	GroupHeaders          []string
	ExtraHeaderPrefixes   []string
	HasRequestHeaderProxy bool
}

// SameAuthorities reports whether both trust the same certificate authorities.
func (i *AuthenticationInfo) SameAuthorities(other *AuthenticationInfo) bool {
	return bytes.Equal(i.ClientCA, other.ClientCA) && bytes.Equal(i.RequestHeaderCA, other.RequestHeaderCA)
}

func (i *AuthenticationInfo) data() (map[string]string, error) {
	data := map[string]string{}
	if len(i.ClientCA) > 0 {
		data["client-ca-file"] = string(i.ClientCA)
	}
	if !i.HasRequestHeaderProxy {
		return data, nil
	}
	data["requestheader-client-ca-file"] = string(i.RequestHeaderCA)
	for key, list := range map[string][]string{
		"requestheader-allowed-names": i.AllowedNames, "requestheader-username-headers": i.UsernameHeaders,
		"requestheader-uid-headers": i.UIDHeaders, "requestheader-group-headers": i.GroupHeaders,
		"requestheader-extra-headers-prefix": i.ExtraHeaderPrefixes,
	} {
		if list == nil {
			if key == "requestheader-uid-headers" {
				continue
			}
			list = []string{}
		}
		raw, err := json.Marshal(list)
		if err != nil {
			return nil, err
		}
		data[key] = string(raw)
	}
	return data, nil
}

// Publish writes the config map extension-apiserver-authentication. Certificates
// of other replicas stay.
func (i *AuthenticationInfo) Publish(ctx context.Context, stores *group.Stores) error {
	data, err := i.data()
	if err != nil || len(data) == 0 {
		return err
	}
	c := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{
			Name: AuthenticationInfoName, Namespace: metav1.NamespaceSystem,
			ManagedFields: written("v1", dataFields(data)),
		},
		Data: data,
	}
	return put(ctx, group.ConfigMaps(stores), c, func(have *corev1.ConfigMap) bool {
		wanted := maps.Clone(have.Data)
		if wanted == nil {
			wanted = map[string]string{}
		}
		for k, v := range data {
			if strings.HasSuffix(k, "-ca-file") {
				v = withCertificates(wanted[k], v)
			}
			wanted[k] = v
		}
		if maps.Equal(wanted, have.Data) {
			return false
		}
		have.Data = wanted
		return true
	})
}

// withCertificates returns PEM with those certificates of added that it has not.
func withCertificates(have, added string) string {
	if have == "" {
		return added
	}
	for block, rest := pem.Decode([]byte(added)); block != nil; block, rest = pem.Decode(rest) {
		one := string(pem.EncodeToMemory(&pem.Block{Type: block.Type, Bytes: block.Bytes}))
		if strings.Contains(have, strings.TrimSpace(one)) {
			continue
		}
		if !strings.HasSuffix(have, "\n") {
			have += "\n"
		}
		have += one
	}
	return have
}

// dataFields are the managed fields of a config map's data.
func dataFields(data map[string]string) string {
	var b strings.Builder
	b.WriteString(`{"f:data":{".":{}`)
	for _, k := range slices.Sorted(maps.Keys(data)) {
		b.WriteString(`,"f:` + k + `":{}`)
	}
	b.WriteString(`}}`)
	return b.String()
}
