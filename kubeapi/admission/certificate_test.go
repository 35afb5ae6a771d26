package admission

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"strings"
	"testing"

	certificatesv1 "k8s.io/api/certificates/v1"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"triplane.dev/generic/base/authorizer"
	"triplane.dev/generic/base/user"
	"triplane.dev/generic/guard/admission"
	"triplane.dev/kubeapi/admission/admissiontest"
	"triplane.dev/kubeapi/admission/noderestriction"
	"triplane.dev/kubeapi/group"
)

func signingRequest(t *testing.T, signer string, subject pkix.Name) *certificatesv1.CertificateSigningRequest {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	der, err := x509.CreateCertificateRequest(rand.Reader, &x509.CertificateRequest{Subject: subject}, key)
	if err != nil {
		t.Fatal(err)
	}
	return &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{
		SignerName: signer, Request: pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE REQUEST", Bytes: der})}}
}

func certificateAttributes(
	sub string, op admission.Operation, old, csr *certificatesv1.CertificateSigningRequest,
) *admission.Attributes {
	a := &admission.Attributes{Operation: op, Subresource: sub, Name: "r", User: &user.Info{Name: "alice"},
		Resource: schema.GroupVersionResource{Group: "certificates.k8s.io", Version: "v1",
			Resource: "certificatesigningrequests"}}
	if old != nil {
		a.OldObject = old
	}
	if csr != nil {
		a.Object = csr
	}
	return a
}

func TestSigners(t *testing.T) {
	old := &certificatesv1.CertificateSigningRequest{Spec: certificatesv1.CertificateSigningRequestSpec{SignerName: "example.com/s"}}
	lying := old.DeepCopy()
	lying.Spec.SignerName = "mine.com/s"
	signed := old.DeepCopy()
	signed.Status.Certificate = []byte("x")
	for _, c := range []struct {
		granted, sub string
		csr          *certificatesv1.CertificateSigningRequest
		want         string
	}{
		{"approve example.com/s", "approval", old, ""},
		{"approve example.com/*", "approval", old, ""},
		{"approve mine.com/s", "approval", lying,
			`user not permitted to approve requests with signerName "example.com/s"`},
		{"sign example.com/s", "approval", old, "not permitted to approve"},
		{"sign example.com/s", "status", signed, ""},
		{"approve example.com/s", "status", signed,
			`user not permitted to sign requests with signerName "example.com/s"`},
		{"", "status", old, ""}, // nothing that signers do has changed
		{"", "", signed, ""},
	} {
		authz := admissiontest.Allowed(func(a *authorizer.Attributes) bool {
			return a.APIGroup == "certificates.k8s.io" && a.Resource == "signers" && a.Verb+" "+a.Name == c.granted &&
				a.User.Name == "alice"
		})
		d := &Dependencies{Authorizer: authz}
		chain := chainOf(newCertificateApproval(d), newCertificateSigning(d))
		err := chain.Validate(context.Background(), certificateAttributes(c.sub, admission.Update, old, c.csr))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%q, %s: %v, want %q", c.granted, c.sub, err, c.want)
		}
	}
}

func TestCertificateSubjects(t *testing.T) {
	masters := pkix.Name{CommonName: "x", Organization: []string{"dev", "system:masters"}}
	broken := signingRequest(t, certificatesv1.KubeAPIServerClientSignerName, masters)
	broken.Spec.Request = []byte("x")
	for _, c := range []struct {
		csr  *certificatesv1.CertificateSigningRequest
		want string
	}{
		{signingRequest(t, certificatesv1.KubeAPIServerClientSignerName, masters),
			"use of kubernetes.io/kube-apiserver-client signer with system:masters group is not allowed"},
		{signingRequest(t, certificatesv1.KubeAPIServerClientSignerName, pkix.Name{Organization: []string{"dev"}}), ""},
		{signingRequest(t, "example.com/s", masters), ""},
		{broken, "failed to parse CSR"},
	} {
		plugin := &certificateSubject{operations{admission.Create}}
		err := plugin.Validate(context.Background(), certificateAttributes("", admission.Create, nil, c.csr))
		if c.want == "" && err != nil || c.want != "" && (err == nil || !strings.Contains(err.Error(), c.want)) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

func TestNodesAskForTheirOwnCertificates(t *testing.T) {
	for name, want := range map[string]bool{"system:node:a": true, "system:node:b": false, "": false} {
		a := certificateAttributes("", admission.Create, nil,
			signingRequest(t, certificatesv1.KubeletServingSignerName, pkix.Name{CommonName: name}))
		a.User = &user.Info{Name: "system:node:a", Groups: []string{user.NodesGroup}}
		strict := noderestriction.New(group.NewStores(), nil, noderestriction.Limits{})
		if err := strict.Admit(context.Background(), a); (err == nil) != want {
			t.Errorf("%q: %v", name, err)
		}
		lenient := noderestriction.New(group.NewStores(), nil, noderestriction.Limits{AnyRequest: true})
		if err := lenient.Admit(context.Background(), a); err != nil {
			t.Errorf("%q, with AllowInsecureKubeletCertificateSigningRequests: %v", name, err)
		}
	}
}

func TestExternalIPs(t *testing.T) {
	with := func(ips ...string) *corev1.Service {
		return &corev1.Service{Spec: corev1.ServiceSpec{ExternalIPs: ips}}
	}
	for _, c := range []struct {
		now, old *corev1.Service
		ok       bool
	}{
		{with(), nil, true}, {with("1.1.1.1"), nil, false}, {with("1.1.1.1"), with("1.1.1.1", "1.1.1.2"), true},
		{with("1.1.1.1", "1.1.1.3"), with("1.1.1.1"), false}, {with(), with("1.1.1.1"), true},
	} {
		a := &admission.Attributes{Operation: admission.Create, Resource: core("services").WithVersion("v1"),
			Object: c.now}
		if c.old != nil {
			a.Operation, a.OldObject = admission.Update, c.old
		}
		if err := (denyExternalIPs{}).Validate(context.Background(), a); (err == nil) != c.ok {
			t.Errorf("%v after %v: %v", c.now.Spec.ExternalIPs, c.old, err)
		}
	}
}
