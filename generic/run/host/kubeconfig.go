package host

import (
	"fmt"
	"os"

	"k8s.io/client-go/tools/clientcmd"
	clientcmdapi "k8s.io/client-go/tools/clientcmd/api"

	"triplane.dev/internal/durable"
)

// Kubeconfig describes an administrator's kubeconfig.
type Kubeconfig struct {
	// Name is the name of the cluster and of the context.
	Name, URL string
	// CAFile verifies the server; CertFile and KeyFile are the administrator's client certificate.
	CAFile, CertFile, KeyFile string
}

// WriteKubeconfig writes a kubeconfig that embeds the files. It does not touch a file with the same content.
func WriteKubeconfig(path string, k Kubeconfig) error {
	ca, err := os.ReadFile(k.CAFile)
	if err != nil {
		return err
	}
	cert, err := os.ReadFile(k.CertFile)
	if err != nil {
		return err
	}
	key, err := os.ReadFile(k.KeyFile)
	if err != nil {
		return err
	}
	config := clientcmdapi.NewConfig()
	config.Clusters[k.Name] = &clientcmdapi.Cluster{Server: k.URL, CertificateAuthorityData: ca}
	config.AuthInfos["admin"] = &clientcmdapi.AuthInfo{ClientCertificateData: cert, ClientKeyData: key}
	config.Contexts[k.Name] = &clientcmdapi.Context{Cluster: k.Name, AuthInfo: "admin"}
	config.CurrentContext = k.Name
	content, err := clientcmd.Write(*config)
	if err != nil {
		return err
	}
	if old, err := os.ReadFile(path); err == nil && string(old) == string(content) {
		return os.Chmod(path, 0o600)
	}
	if err := durable.WriteFile(path, content, 0o600); err != nil {
		return fmt.Errorf("admin kubeconfig: %w", err)
	}
	return nil
}
