package main

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/json"
	"errors"
	"io"
	"os"
	"os/exec"
	"path/filepath"
	"runtime"
	"strings"
	"testing"
)

// makeRelease runs the program for the platform of the test.
func makeRelease(t *testing.T) string {
	t.Helper()
	out := filepath.Join(t.TempDir(), "dist")
	if err := run([]string{"-version", "v0.0.1-test", "-out", out, "-platforms", "linux/" + runtime.GOARCH}); err != nil {
		t.Fatal(err)
	}
	return out
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

// Two releases of a commit have the same bytes, and what they contain runs.
func TestRelease(t *testing.T) {
	first, second := makeRelease(t), makeRelease(t)
	sums := read(t, filepath.Join(first, "SHA256SUMS"))
	if other := read(t, filepath.Join(second, "SHA256SUMS")); !bytes.Equal(sums, other) {
		t.Errorf("two releases differ:\n%s\n%s", sums, other)
	}
	check := exec.Command("sha256sum", "-c", "SHA256SUMS")
	check.Dir = first
	if out, err := check.CombinedOutput(); err != nil {
		t.Errorf("sha256sum -c: %v\n%s", err, out)
	}
	name := "triplane_0.0.1-test_linux_" + runtime.GOARCH

	var bill document
	if err := json.Unmarshal(read(t, filepath.Join(first, name+".spdx.json")), &bill); err != nil {
		t.Fatal(err)
	}
	if len(bill.Packages) < 50 || !strings.Contains(string(read(t, filepath.Join(first, name+".spdx.json"))), "pkg:golang/k8s.io/api@") {
		t.Errorf("the SBOM has %d packages", len(bill.Packages))
	}

	chart := t.TempDir()
	untar(t, zipped(t, read(t, filepath.Join(first, "triplane-chart-0.0.1-test.tgz"))), chart)
	if stamped := string(read(t, filepath.Join(chart, "triplane", "Chart.yaml"))); !strings.Contains(stamped, "\nversion: 0.0.1-test\n") ||
		!strings.Contains(stamped, "\nappVersion: v0.0.1-test\n") {
		t.Errorf("the chart has another version:\n%s", stamped)
	}
	read(t, filepath.Join(chart, "triplane", "templates", "servers.yaml"))

	unpacked := t.TempDir()
	untar(t, zipped(t, read(t, filepath.Join(first, name+".tar.gz"))), unpacked)
	version, err := exec.Command(filepath.Join(unpacked, "triplane"), "--version").Output()
	if err != nil || !strings.HasPrefix(string(version), "Triplane v0.0.1-test, Kubernetes v1.") {
		t.Errorf("--version: %q, %v", version, err)
	}
	runImage(t, filepath.Join(first, "triplane_0.0.1-test_image.oci.tar"))
}

// runImage unpacks an image, and runs the program in it as a container does: with nothing else below its root.
func runImage(t *testing.T, archive string) {
	t.Helper()
	layout, rootfs := t.TempDir(), t.TempDir()
	untar(t, bytes.NewReader(read(t, archive)), layout)
	blob := func(digest string, into any) {
		t.Helper()
		if err := json.Unmarshal(read(t, filepath.Join(layout, "blobs", strings.Replace(digest, ":", "/", 1))), into); err != nil {
			t.Fatal(err)
		}
	}
	type manifest struct {
		Manifests []struct{ Digest string }
		Config    struct{ Digest string }
		Layers    []struct{ Digest string }
	}
	var top, index, image manifest
	if err := json.Unmarshal(read(t, filepath.Join(layout, "index.json")), &top); err != nil {
		t.Fatal(err)
	}
	blob(top.Manifests[0].Digest, &index)
	blob(index.Manifests[0].Digest, &image)
	var config struct {
		Architecture string
		Config       struct {
			User        string
			Entrypoint  []string
			Labels      map[string]string
			Healthcheck struct{ Test []string }
		}
	}
	blob(image.Config.Digest, &config)
	c := config.Config
	if config.Architecture != runtime.GOARCH || c.User != "65532:65532" || c.Entrypoint[0] != "triplane" ||
		c.Labels["org.opencontainers.image.version"] != "v0.0.1-test" || len(c.Healthcheck.Test) == 0 {
		t.Errorf("configuration %+v", config)
	}
	for _, layer := range image.Layers {
		untar(t, zipped(t, read(t, filepath.Join(layout, "blobs", strings.Replace(layer.Digest, ":", "/", 1)))), rootfs)
	}
	program := []string{"/usr/local/bin/triplane", "--version"}
	inside := exec.Command("unshare", append([]string{"--map-root-user", "chroot", rootfs}, program...)...)
	if exec.Command("unshare", "--map-root-user", "true").Run() != nil {
		t.Log("no user namespaces: the program runs outside of the image")
		inside = exec.Command(filepath.Join(rootfs, program[0]), program[1])
	}
	if out, err := inside.CombinedOutput(); err != nil || !strings.HasPrefix(string(out), "Triplane v0.0.1-test") {
		t.Errorf("in the image: %q, %v", out, err)
	}
}

func zipped(t *testing.T, content []byte) io.Reader {
	t.Helper()
	r, err := gzip.NewReader(bytes.NewReader(content))
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func untar(t *testing.T, from io.Reader, dir string) {
	t.Helper()
	archive := tar.NewReader(from)
	for {
		h, err := archive.Next()
		if errors.Is(err, io.EOF) {
			return
		}
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, h.Name)
		switch h.Typeflag {
		case tar.TypeDir:
			err = os.MkdirAll(path, 0o755)
		case tar.TypeSymlink:
			err = os.Symlink(h.Linkname, path)
		default:
			content, readErr := io.ReadAll(archive)
			err = errors.Join(readErr, os.MkdirAll(filepath.Dir(path), 0o755), os.WriteFile(path, content, h.FileInfo().Mode()))
		}
		if err != nil {
			t.Fatal(err)
		}
	}
}

func TestByRoom(t *testing.T) {
	got := byRoom("b: second\na: x\nb: first\nno room")
	want := "\n### a\n\n- x\n\n### b\n\n- first\n- second\n\n### other\n\n- no room\n"
	if got != want {
		t.Errorf("%q, want %q", got, want)
	}
}

func TestVersionsAreChecked(t *testing.T) {
	for _, version := range []string{"", "0.5.0", "v1", "latest"} {
		if err := run([]string{"-version", version}); err == nil || !strings.Contains(err.Error(), "v0.5.0") {
			t.Errorf("%q: %v", version, err)
		}
	}
}
