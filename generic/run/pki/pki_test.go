package pki

import (
	"crypto/x509"
	"net"
	"os"
	"testing"
	"time"
)

func read(t *testing.T, file string) *x509.Certificate {
	t.Helper()
	certs, key, err := readPair(file, file[:len(file)-len(".crt")]+".key")
	if err != nil || key == nil {
		t.Fatalf("%s: %v", file, err)
	}
	return certs[0]
}

func TestEnsureKeepsWhatIsGood(t *testing.T) {
	dir := t.TempDir()
	cfg := Config{Names: []string{"localhost"}, IPs: []net.IP{net.ParseIP("127.0.0.1")}}
	f, err := Ensure(dir, cfg)
	if err != nil {
		t.Fatal(err)
	}
	ca, serving, admin := read(t, f.CACert), read(t, f.ServingCert), read(t, f.AdminCert)
	if err := serving.VerifyHostname("localhost"); err != nil {
		t.Error(err)
	}
	roots := x509.NewCertPool()
	roots.AddCert(ca)
	if _, err := admin.Verify(x509.VerifyOptions{Roots: roots, KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}); err != nil {
		t.Error(err)
	}
	if admin.Subject.Organization[0] != "system:masters" {
		t.Errorf("admin is in %v", admin.Subject.Organization)
	}
	for _, key := range []string{f.CAKey, f.ServingKey, f.AdminKey, f.ServiceAccountKey, f.FrontProxyClientKey} {
		if info, err := os.Stat(key); err != nil || info.Mode().Perm() != 0o600 {
			t.Errorf("%s: mode %v, %v", key, info.Mode(), err)
		}
	}

	if _, err := Ensure(dir, cfg); err != nil {
		t.Fatal(err)
	}
	if again := read(t, f.ServingCert); !again.Equal(serving) {
		t.Error("a second start made another serving certificate")
	}
	cfg.Names = append(cfg.Names, "example.com")
	if _, err := Ensure(dir, cfg); err != nil {
		t.Fatal(err)
	}
	if again := read(t, f.ServingCert); again.VerifyHostname("example.com") != nil {
		t.Error("a new name did not make a new serving certificate")
	}
	if again := read(t, f.CACert); !again.Equal(ca) {
		t.Error("a new name made a new authority")
	}
}

func TestEnsureReplacesWhatExpires(t *testing.T) {
	dir := t.TempDir()
	f, err := Ensure(dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	ca, err := ensureAuthority(f.CACert, f.CAKey, "")
	if err != nil {
		t.Fatal(err)
	}
	key, err := newKey()
	if err != nil {
		t.Fatal(err)
	}
	old, err := sign(client("triplane-admin", "system:masters"), ca.cert, key.Public(), ca.key, time.Hour)
	if err != nil {
		t.Fatal(err)
	}
	if err := writePair(f.AdminCert, f.AdminKey, old, key); err != nil {
		t.Fatal(err)
	}
	if _, err := Ensure(dir, Config{}); err != nil {
		t.Fatal(err)
	}
	if again := read(t, f.AdminCert); again.Equal(old) {
		t.Error("a certificate that is about to expire was kept")
	}
}

func TestEnsureTouchesNothingItCannotRead(t *testing.T) {
	dir := t.TempDir()
	f, err := Ensure(dir, Config{})
	if err != nil {
		t.Fatal(err)
	}
	for _, file := range []string{f.CACert, f.ServiceAccountKey, f.ServingKey} {
		good, _ := os.ReadFile(file)
		if err := os.WriteFile(file, []byte("rubbish"), 0o600); err != nil {
			t.Fatal(err)
		}
		if _, err := Ensure(dir, Config{}); err == nil {
			t.Errorf("%s is rubbish and nobody complained", file)
		}
		if b, _ := os.ReadFile(file); string(b) != "rubbish" {
			t.Errorf("%s was overwritten", file)
		}
		if err := os.WriteFile(file, good, 0o600); err != nil {
			t.Fatal(err)
		}
	}
}

func BenchmarkEnsure(b *testing.B) {
	for b.Loop() {
		if _, err := Ensure(b.TempDir(), Config{Names: []string{"localhost"}}); err != nil {
			b.Fatal(err)
		}
	}
}
