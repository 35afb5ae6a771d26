// Command lines of other installers of kube-apiserver, and starts that must fail.

package deploy

import (
	"context"
	"crypto/tls"
	"net/http"
	"os"
	"path/filepath"
	"strconv"
	"strings"
	"testing"
	"time"

	"triplane.dev/e2e/harness"
	"triplane.dev/generic/run/pki"
)

// commandLines are what others start kube-apiserver with; words in braces are
// replaced: {etcd}, {port}, {pki}, a folder with the keys of a cluster.
var commandLines = map[string]string{
	"kubeadm": `--advertise-address=127.0.0.1 --allow-privileged=true --authorization-mode=Node,RBAC
		--client-ca-file={pki}/ca.crt --enable-admission-plugins=NodeRestriction --enable-bootstrap-token-auth=true
		--etcd-cafile={pki}/ca.crt --etcd-certfile={pki}/admin.crt --etcd-keyfile={pki}/admin.key
		--etcd-servers={etcd}
		--kubelet-client-certificate={pki}/admin.crt --kubelet-client-key={pki}/admin.key
		--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname
		--proxy-client-cert-file={pki}/front-proxy-client.crt --proxy-client-key-file={pki}/front-proxy-client.key
		--requestheader-allowed-names=front-proxy-client --requestheader-client-ca-file={pki}/front-proxy-ca.crt
		--requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group
		--requestheader-username-headers=X-Remote-User --secure-port={port}
		--service-account-issuer=https://kubernetes.default.svc.cluster.local
		--service-account-key-file={pki}/sa.pub --service-account-signing-key-file={pki}/sa.key
		--service-cluster-ip-range=10.96.0.0/12 --tls-cert-file={pki}/apiserver.crt --tls-private-key-file={pki}/apiserver.key`,
	"kind": `--advertise-address=127.0.0.1 --allow-privileged=true --authorization-mode=Node,RBAC
		--client-ca-file={pki}/ca.crt --enable-admission-plugins=NodeRestriction --enable-bootstrap-token-auth=true
		--etcd-cafile={pki}/ca.crt --etcd-certfile={pki}/admin.crt --etcd-keyfile={pki}/admin.key
		--etcd-servers={etcd}
		--kubelet-client-certificate={pki}/admin.crt --kubelet-client-key={pki}/admin.key
		--kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname
		--proxy-client-cert-file={pki}/front-proxy-client.crt --proxy-client-key-file={pki}/front-proxy-client.key
		--requestheader-allowed-names=front-proxy-client --requestheader-client-ca-file={pki}/front-proxy-ca.crt
		--requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group
		--requestheader-username-headers=X-Remote-User --runtime-config= --secure-port={port}
		--service-account-issuer=https://kubernetes.default.svc.cluster.local
		--service-account-key-file={pki}/sa.pub --service-account-signing-key-file={pki}/sa.key
		--service-cluster-ip-range=10.96.0.0/16 --tls-cert-file={pki}/apiserver.crt --tls-private-key-file={pki}/apiserver.key`,
	"k3s": `--advertise-address=127.0.0.1 --advertise-port=6443 --allow-privileged=true --anonymous-auth=true
		--egress-selector-config-file={pki}/egress.yaml
		--api-audiences=https://kubernetes.default.svc.cluster.local,k3s --authorization-mode=Node,RBAC
		--bind-address=127.0.0.1 --cert-dir={pki}/temporary-certs --client-ca-file={pki}/ca.crt
		--enable-admission-plugins=NodeRestriction --enable-aggregator-routing=true --enable-bootstrap-token-auth=true
		--etcd-cafile={pki}/ca.crt --etcd-certfile={pki}/admin.crt --etcd-keyfile={pki}/admin.key
		--etcd-servers={etcd} --feature-gates=JobTrackingWithFinalizers=true
		--kubelet-certificate-authority={pki}/ca.crt --kubelet-client-certificate={pki}/admin.crt
		--kubelet-client-key={pki}/admin.key --kubelet-preferred-address-types=InternalIP,ExternalIP,Hostname
		--profiling=false --proxy-client-cert-file={pki}/front-proxy-client.crt --proxy-client-key-file={pki}/front-proxy-client.key
		--requestheader-allowed-names=front-proxy-client --requestheader-client-ca-file={pki}/front-proxy-ca.crt
		--requestheader-extra-headers-prefix=X-Remote-Extra- --requestheader-group-headers=X-Remote-Group
		--requestheader-username-headers=X-Remote-User --secure-port={port}
		--service-account-issuer=https://kubernetes.default.svc.cluster.local
		--service-account-key-file={pki}/sa.pub --service-account-signing-key-file={pki}/sa.key
		--service-cluster-ip-range=10.43.0.0/16 --service-node-port-range=30000-32767 --storage-backend=etcd3
		--tls-cert-file={pki}/apiserver.crt --tls-private-key-file={pki}/apiserver.key
		--tls-cipher-suites=TLS_ECDHE_RSA_WITH_AES_128_GCM_SHA256,TLS_ECDHE_ECDSA_WITH_AES_128_GCM_SHA256`,
	"envtest": `--allow-privileged=true --authorization-mode=RBAC --bind-address=127.0.0.1 --cert-dir={pki}
		--client-ca-file={pki}/ca.crt --disable-admission-plugins=ServiceAccount --etcd-servers={etcd}
		--secure-port={port} --service-account-issuer=https://127.0.0.1:6443/
		--service-account-key-file={pki}/sa.pub --service-account-signing-key-file={pki}/sa.key
		--service-cluster-ip-range=10.0.0.0/24`,
	"zeros": `--bind-address=127.0.0.1 --cert-dir={pki}/fresh --client-ca-file={pki}/ca.crt --etcd-servers={etcd} --secure-port={port}
		--service-account-issuer=https://127.0.0.1:6443/ --service-account-signing-key-file={pki}/sa.key
		--watch-cache=false --watch-cache-sizes=pods#0 --default-watch-cache-size=0 --apiserver-count=3
		--etcd-healthcheck-timeout=0 --etcd-readycheck-timeout=0 --kubelet-timeout=0 --event-ttl=0 --livez-grace-period=0
		--max-requests-inflight=0 --emulated-version=1.36 --storage-initialization-timeout=0`,
}

// TestCommandLines starts the server as others start kube-apiserver, all from one
// folder that cannot be written, and sees it get ready and stop without a warning.
func TestCommandLines(t *testing.T) {
	programs, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	keys := filepath.Join(t.TempDir(), "pki")
	if _, err := pki.Ensure(keys, pki.Config{Names: []string{"localhost"},
		FrontProxy: "front-proxy-client"}); err != nil {
		t.Fatal(err)
	}
	admin, err := tls.LoadX509KeyPair(filepath.Join(keys, "admin.crt"), filepath.Join(keys, "admin.key"))
	if err != nil {
		t.Fatal(err)
	}
	egress := strings.ReplaceAll(`{apiVersion: apiserver.k8s.io/v1beta1, kind: EgressSelectorConfiguration, egressSelections: [{name: cluster,
		connection: {proxyProtocol: HTTPConnect, transport: {tcp: {url: "https://127.0.0.1:6443",
		tlsConfig: {caBundle: PKI/ca.crt, clientCert: PKI/admin.crt, clientKey: PKI/admin.key}}}}}]}`, "PKI", keys)
	if err := os.WriteFile(filepath.Join(keys, "egress.yaml"), []byte(strings.ReplaceAll(egress, "\t", " ")),
		0o600); err != nil {
		t.Fatal(err)
	}
	folder := t.TempDir()
	t.Chdir(folder)
	for name, line := range commandLines {
		t.Run(name, func(t *testing.T) {
			port := strconv.Itoa(harness.FreePort(t))
			line := strings.NewReplacer("{etcd}", harness.StartEtcd(t), "{port}", port, "{pki}", keys).Replace(line)
			p := harness.StartProgram(t, programs.Triplane, strings.Fields(line)...)
			awaitReadyz(t, p, "https://127.0.0.1:"+port+"/readyz", admin)
			if err := p.Terminate(t); err != nil {
				t.Error(err)
			}
			if strings.Contains(p.Output(), "\nE") || strings.Contains(p.Output(), "\nW") ||
				strings.Contains(p.Output(), "Warning") {
				t.Errorf("it warned:\n%s", p.Output())
			}
			if files, _ := os.ReadDir(folder); len(files) > 0 {
				t.Errorf("it left %v in the folder where it was started", files)
			}
		})
	}
	for _, dir := range []string{"temporary-certs", "fresh"} {
		_, err := os.Stat(filepath.Join(keys, dir, "apiserver.crt"))
		if made := err == nil; made != (dir == "fresh") {
			t.Errorf("a certificate was made in %s: %v", dir, made)
		}
	}
}

// awaitReadyz returns when the server says that it is ready.
func awaitReadyz(t *testing.T, p *harness.Process, url string, cert tls.Certificate) {
	t.Helper()
	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{InsecureSkipVerify: true,
		Certificates: []tls.Certificate{cert}}}}
	defer client.CloseIdleConnections()
	ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
	defer cancel()
	for {
		req, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			t.Fatal(err)
		}
		if resp, err := client.Do(req); err == nil {
			resp.Body.Close()
			if resp.StatusCode == http.StatusOK {
				return
			}
		}
		select {
		case <-ctx.Done():
			t.Fatalf("it does not get ready:\n%s", p.Output())
		case <-time.After(20 * time.Millisecond):
		}
	}
}

// TestStartFails sees starts that cannot succeed end soon, with one line.
func TestStartFails(t *testing.T) {
	programs, err := harness.Build()
	if err != nil {
		t.Fatal(err)
	}
	for line, want := range map[string]string{
		"--etcd-servers=http://127.0.0.1:1 --storage-initialization-timeout=1s":      "etcd at http://127.0.0.1:1 cannot be reached within 1s",
		"--runtime-config=nosuch/v1=true":                                            "unknown api groups nosuch",
		"--runtime-config=apps/v9=true":                                              "group version apps/v9 that has not been registered",
		"--feature-gates=NeverWas=true":                                              "unrecognized feature gate: NeverWas",
		"--emulated-version=1.12":                                                    "emulation version 1.12 is not between",
		"--emulated-version=1.33 --runtime-config=resource.k8s.io/v1=true":           "cannot enable version resource.k8s.io/v1 in --runtime-config",
		"--embedded-etcd-peer-listen=https://127.0.0.1:1 --join=https://127.0.0.1:1": "the data directory must contain the keys of the cluster (triplane keys --from)",
		"--embedded-etcd-peer-listen=https://127.0.0.1:1 --embedded-etcd-name=b --embedded-etcd-initial-cluster=a=https://127.0.0.1:1": "does not contain this member, \"b\"",
		"--join-kubeconfig=/nosuch":             "--join-kubeconfig needs --join",
		"--egress-selector-config-file=/nosuch": "--egress-selector-config-file: open /nosuch: no such file or directory",
	} {
		args := append(strings.Fields(line), "--data-dir", t.TempDir(), "--secure-port=0", "--bind-address=127.0.0.1")
		p := harness.StartProgram(t, programs.Triplane, args...)
		if err := p.Wait(t, 20*time.Second); err == nil || p.ExitCode() != 1 {
			t.Errorf("%s: ended with %v", line, err)
		}
		lines := strings.Split(strings.TrimSpace(p.Output()), "\n")
		if last := lines[len(lines)-1]; !strings.HasPrefix(last, "triplane: ") || !strings.Contains(last, want) {
			t.Errorf("%s: %q, want %q", line, last, want)
		}
	}
}
