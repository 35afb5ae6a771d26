// A kubelet bootstraps: its request for a certificate is approved and signed.

package controllers

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"fmt"
	"slices"
	"testing"
	"time"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/util/keyutil"

	"triplane.dev/e2e/harness"
)

// TestKubeletsGetCertificates asks as a node's bootstrap user, and uses what comes.
func TestKubeletsGetCertificates(t *testing.T) {
	s, client := harness.StartControlled(t)
	ctx := t.Context()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	request := func(name, commonName string, groups ...string) *certificatesv1.CertificateSigningRequest {
		der, err := x509.CreateCertificateRequest(rand.Reader,
			&x509.CertificateRequest{Subject: pkix.Name{CommonName: commonName, Organization: groups}}, key)
		if err != nil {
			t.Fatal(err)
		}
		seconds := int32(3600)
		return &certificatesv1.CertificateSigningRequest{ObjectMeta: metav1.ObjectMeta{Name: name},
			Spec: certificatesv1.CertificateSigningRequestSpec{
				Request:    pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der}),
				SignerName: certificatesv1.KubeAPIServerClientKubeletSignerName, ExpirationSeconds: &seconds,
				Usages: []certificatesv1.KeyUsage{certificatesv1.UsageClientAuth, certificatesv1.UsageDigitalSignature},
			}}
	}
	requests := client.CertificatesV1().CertificateSigningRequests()
	if _, err := requests.Create(ctx, request("node", "system:node:n", "system:nodes"),
		metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	var issued []byte
	harness.Eventually(t, func() error {
		csr, err := requests.Get(ctx, "node", metav1.GetOptions{})
		if err == nil && len(csr.Status.Certificate) == 0 {
			err = fmt.Errorf("no certificate: %v", csr.Status)
		}
		if err == nil {
			issued = csr.Status.Certificate
		}
		return err
	})
	keyPEM, err := keyutil.MarshalPrivateKeyToPEM(key)
	if err != nil {
		t.Fatal(err)
	}
	pair, err := tls.X509KeyPair(issued, keyPEM)
	if err != nil {
		t.Fatal(err)
	}
	if life := pair.Leaf.NotAfter.Sub(pair.Leaf.NotBefore); life != time.Hour+5*time.Minute {
		t.Errorf("the certificate lives %v", life)
	}
	config := rest.AnonymousClientConfig(s.Config)
	config.CertData, config.KeyData = issued, keyPEM
	node := kubernetes.NewForConfigOrDie(config)
	if _, err := node.CoreV1().Nodes().Create(ctx, &corev1.Node{ObjectMeta: metav1.ObjectMeta{Name: "n"}},
		metav1.CreateOptions{}); err != nil {
		t.Errorf("the node cannot use its certificate: %v", err)
	}

	wrong := request("wrong", "system:node:n", "system:masters")
	if _, err := requests.Create(ctx, wrong, metav1.CreateOptions{}); err != nil {
		t.Fatal(err)
	}
	s.Kubectl(t, "certificate", "approve", "wrong")
	harness.Eventually(t, func() error {
		csr, err := requests.Get(ctx, "wrong", metav1.GetOptions{})
		if err == nil && !slices.ContainsFunc(csr.Status.Conditions,
			func(c certificatesv1.CertificateSigningRequestCondition) bool {
				return c.Type == certificatesv1.CertificateFailed
			}) {
			err = fmt.Errorf("not refused: %v", csr.Status)
		}
		return err
	})
}
