package certificates

import (
	"context"
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/x509"
	"encoding/pem"
	"fmt"
	"maps"
	"math/big"
	"testing"
	"time"

	"k8s.io/utils/ptr"

	"triplane.dev/generic/base/metrics"
)

// TestDurationsAreCounted: the bounds were observed at kube-apiserver, with a certificate of a day and one of ten.
func TestDurationsAreCounted(t *testing.T) {
	const day, ten = 86400, 864000
	for _, c := range []struct {
		issued, requested int32
		honored           bool
	}{
		{day, day, true}, {day, day + 4850, true}, {day, day + 4900, false}, {day, day - 4330, true}, {day, day - 4600, false},
		{ten, ten + 45700, true}, {ten, ten + 46000, false}, {ten, ten - 3600, true}, {ten, ten - 43000, false},
	} {
		want := map[string]float64{"requested kubernetes.io/kube-apiserver-client": 1, "requested other": 1}
		if c.honored {
			want["honored kubernetes.io/kube-apiserver-client"], want["honored other"] = 1, 1
		}
		m := metrics.New()
		begin := countIssued(newRequestMetrics(m))
		for _, signer := range []string{"kubernetes.io/kube-apiserver-client", "example.com/x"} {
			issue(t, begin, signer, c.issued, c.requested)
		}
		if got := counted(t, m); !maps.Equal(got, want) {
			t.Errorf("%+v: %v, want %v", c, got, want)
		}
	}
}

// issue stores a certificate once, after writes that are not to be counted.
func issue(t *testing.T, begin func(context.Context, *csr, *csr, bool) (func(context.Context, bool), error), signer string, issued, requested int32) {
	t.Helper()
	pending, signed := &csr{}, &csr{}
	signed.Spec.SignerName, signed.Spec.ExpirationSeconds = signer, ptr.To(requested)
	signed.Status.Certificate = certificateOf(t, time.Duration(issued)*time.Second)
	unlimited := signed.DeepCopy()
	unlimited.Spec.ExpirationSeconds = nil
	for _, c := range []struct {
		new, old     *csr
		dryRun, done bool
	}{{signed, signed, false, true}, {signed, pending, true, true}, {unlimited, pending, false, true}, {signed, pending, false, false}, {signed, pending, false, true}} {
		finish, err := begin(context.Background(), c.new, c.old, c.dryRun)
		if err != nil {
			t.Fatal(err)
		}
		if finish != nil {
			finish(context.Background(), c.done)
		}
	}
}

func certificateOf(t *testing.T, life time.Duration) []byte {
	t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		t.Fatal(err)
	}
	template := &x509.Certificate{SerialNumber: big.NewInt(1), NotBefore: time.Unix(0, 0), NotAfter: time.Unix(0, 0).Add(life)}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		t.Fatal(err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
}

func counted(t *testing.T, m *metrics.Registry) map[string]float64 {
	t.Helper()
	families, err := m.Gather()
	if err != nil {
		t.Fatal(err)
	}
	got := map[string]float64{}
	for _, f := range families {
		for _, kind := range []string{"requested", "honored"} {
			if f.GetName() != "apiserver_certificates_registry_csr_"+kind+"_duration_total" {
				continue
			}
			for _, s := range f.Metric {
				got[fmt.Sprint(kind, " ", s.Label[0].GetValue())] = s.Counter.GetValue()
			}
		}
	}
	return got
}
