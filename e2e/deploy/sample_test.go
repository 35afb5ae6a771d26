// The sample API server as its manifests deploy it.

package deploy

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"testing"

	"k8s.io/client-go/tools/clientcmd"

	"triplane.dev/e2e/harness"
)

// TestDeployedSampleServer runs what the manifests of the sample API server would run in a pod:
// its program with its arguments, as its service account. Only where it listens differs, so its
// Service leads there.
func TestDeployedSampleServer(t *testing.T) {
	s := harness.Start(t)
	in := func(name string) string { return filepath.Join("../../deploy/sample-apiserver", name) }
	s.Kubectl(t, "apply", "--validate=strict", "-f", in("sample-apiserver.yaml"), "-f", in("apiservices.yaml"))

	port := harness.FreePort(t)
	s.Kubectl(t, "delete", "service", "api", "--namespace", "wardle")
	s.Kubectl(t, "create", "service", "externalname", "api", "--external-name", "localhost", "--namespace", "wardle")
	versions := []string{"apiservice/v1alpha1.wardle.example.com", "apiservice/v1beta1.wardle.example.com"}
	for _, v := range versions {
		s.Kubectl(t, "patch", v, "--type=merge", "--patch", fmt.Sprintf(`{"spec":{"service":{"port":%d}}}`, port))
	}
	account := accountKubeconfig(t, s, "wardle", "apiserver")
	args := slices.DeleteFunc(deployedArgs(t, "sample-apiserver/sample-apiserver.yaml"), func(arg string) bool {
		name, _, _ := strings.Cut(arg, "=")
		return slices.Contains([]string{"--data-dir", "--secure-port", "--bind-address"}, name)
	})
	harness.StartProgram(t, s.Programs.OwnSampleAPIServer,
		append(args, "--data-dir", t.TempDir(), "--secure-port", fmt.Sprint(port), "--bind-address", "127.0.0.1",
			"--kubeconfig", account, "--authentication-kubeconfig", account, "--authorization-kubeconfig", account)...)

	s.Kubectl(t, append([]string{"wait", "--for=condition=Available", "--timeout=60s"}, versions...)...)
	s.Kubectl(t, "apply", "-f", in("flunder.yaml"))
	harness.Expect(t, s.Kubectl(t, "get", "flunders", "--namespace", "wardle"), "my-first-flunder")
	if out, err := s.TryKubectl(t, "", "get", "flunders", "--namespace", "wardle", "--as", "somebody"); err == nil ||
		!strings.Contains(out, "Forbidden") {
		t.Errorf("somebody without permissions reads: %s %v", out, err)
	}
}

// accountKubeconfig writes a kubeconfig with a token of a service account.
func accountKubeconfig(t *testing.T, s *harness.Server, namespace, name string) string {
	t.Helper()
	config, err := clientcmd.LoadFromFile(s.Kubeconfig)
	if err != nil {
		t.Fatal(err)
	}
	for _, user := range config.AuthInfos {
		user.ClientCertificate, user.ClientKey, user.ClientCertificateData, user.ClientKeyData = "", "", nil, nil
		user.Token = strings.TrimSpace(s.Kubectl(t, "create", "token", name, "--namespace", namespace))
	}
	file := filepath.Join(t.TempDir(), name+".kubeconfig")
	if err := clientcmd.WriteToFile(*config, file); err != nil {
		t.Fatal(err)
	}
	return file
}
