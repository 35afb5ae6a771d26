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
	"regexp"
	"runtime"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

const version = "0.0.1-test"

// readme returns the commands of the README that make, load and run an image, for the version of the tests.
func readme(t *testing.T) [3]string {
	t.Helper()
	section := regexp.MustCompile(`(?s)\*\*An image\*\*.*?:\n\n    (\S.*?)\n    (\S.*?)\n    (\S.*?)\n\n`)
	found := section.FindStringSubmatch(string(read(t, "../../README.md")))
	if found == nil {
		t.Fatal("the README has no three commands for an image")
	}
	for i := range found {
		found[i] = strings.ReplaceAll(found[i], "0.5.0", version)
	}
	return [3]string(found[1:])
}

// makeRelease runs the program as the command of the README does.
func makeRelease(t *testing.T) string {
	t.Helper()
	command := regexp.MustCompile(`^make -C \.\./triplane release VERSION=(\S+) ARGS='(.*)'$`).FindStringSubmatch(readme(t)[0])
	if command == nil {
		t.Fatalf("the README makes a release with %q", readme(t)[0])
	}
	out := filepath.Join(t.TempDir(), "dist")
	args := append([]string{"-version", command[1], "-out", out}, strings.Fields(strings.ReplaceAll(command[2], "amd64", runtime.GOARCH))...)
	if err := run(args); err != nil {
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
	name := "triplane_" + version + "_linux_" + runtime.GOARCH

	var bill document
	if err := json.Unmarshal(read(t, filepath.Join(first, name+".spdx.json")), &bill); err != nil {
		t.Fatal(err)
	}
	if len(bill.Packages) < 50 || !strings.Contains(string(read(t, filepath.Join(first, name+".spdx.json"))), "pkg:golang/k8s.io/api@") {
		t.Errorf("the SBOM has %d packages", len(bill.Packages))
	}

	notes := string(read(t, filepath.Join(first, "NOTES.md")))
	size := regexp.MustCompile(`\| linux/` + runtime.GOARCH + ` \| (\d+)\.\d MB \|`).FindStringSubmatch(notes)
	if size == nil {
		t.Errorf("the notes have no size:\n%s", notes)
	} else if n, err := strconv.Atoi(size[1]); err != nil || n < 10 || n >= 80 {
		t.Errorf("the binary has %s MB, and the aim is less than 80", size[1])
	}
	for _, imported := range []string{"testserver", "apiserver"} {
		if !regexp.MustCompile("\\| `triplane.dev/" + imported + "` \\| \\d{3,4} \\| \\d{2,3} \\|\n").MatchString(notes) {
			t.Errorf("the notes do not count the dependencies of %s:\n%s", imported, notes)
		}
	}

	chart := t.TempDir()
	untar(t, zipped(t, read(t, filepath.Join(first, "triplane-chart-"+version+".tgz"))), chart)
	if stamped := string(read(t, filepath.Join(chart, "triplane", "Chart.yaml"))); !strings.Contains(stamped, "\nversion: "+version+"\n") ||
		!strings.Contains(stamped, "\nappVersion: v"+version+"\n") {
		t.Errorf("the chart has another version:\n%s", stamped)
	}
	read(t, filepath.Join(chart, "triplane", "templates", "servers.yaml"))

	unpacked := t.TempDir()
	untar(t, zipped(t, read(t, filepath.Join(first, name+".tar.gz"))), unpacked)
	shown, err := exec.Command(filepath.Join(unpacked, "triplane"), "--version").Output()
	if err != nil || !strings.HasPrefix(string(shown), "Triplane v"+version+", Kubernetes v1.") {
		t.Errorf("--version: %q, %v", shown, err)
	}
	image, ok := strings.CutPrefix(readme(t)[1], "podman load --input ../triplane/dist/")
	if !ok {
		t.Fatalf("the README loads an image with %q", readme(t)[1])
	}
	runImage(t, filepath.Join(first, image))
}

// runImage unpacks an image as podman load does, and runs it as podman run does: with nothing else below its root.
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
		Manifests []struct {
			Digest      string
			Annotations map[string]string
		}
		Config struct{ Digest string }
		Layers []struct{ Digest string }
	}
	var top, index, image manifest
	if err := json.Unmarshal(read(t, filepath.Join(layout, "index.json")), &top); err != nil {
		t.Fatal(err)
	}
	blob(top.Manifests[0].Digest, &index)
	blob(index.Manifests[0].Digest, &image)
	if name := top.Manifests[0].Annotations["io.containerd.image.name"]; name != "docker.io/library/triplane:v"+version ||
		readme(t)[2] != "podman run --publish 6443:6443 --volume triplane:/data triplane:v"+version {
		t.Errorf("the image is %s, and the README has %q", name, readme(t)[2])
	}
	var config struct {
		Architecture string
		Config       struct {
			User            string
			Entrypoint, Cmd []string
			Labels          map[string]string
			Healthcheck     struct{ Test []string }
		}
	}
	blob(image.Config.Digest, &config)
	c := config.Config
	if config.Architecture != runtime.GOARCH || c.User != "65532:65532" || c.Entrypoint[0] != "triplane" ||
		c.Labels["org.opencontainers.image.version"] != "v"+version || c.Healthcheck.Test[0] != "CMD" {
		t.Errorf("configuration %+v", config)
	}
	for _, layer := range image.Layers {
		untar(t, zipped(t, read(t, filepath.Join(layout, "blobs", strings.Replace(layer.Digest, ":", "/", 1)))), rootfs)
	}
	if exec.Command("unshare", "--map-root-user", "true").Run() != nil {
		t.Skip("the image is not started: this machine allows no user namespaces (unshare --map-root-user)")
	}
	inside := func(command ...string) *exec.Cmd {
		cmd := exec.Command("unshare", append([]string{"--map-root-user", "chroot", rootfs}, command...)...)
		cmd.Env = []string{"PATH=/usr/local/bin:" + os.Getenv("PATH")}
		return cmd
	}
	var output bytes.Buffer
	server := inside(append(append(c.Entrypoint, c.Cmd...), "--secure-port=0")...)
	server.Stdout, server.Stderr = &output, &output
	if err := server.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- server.Wait() }()
	healthy := false
	for deadline := time.Now().Add(30 * time.Second); !healthy && time.Now().Before(deadline); time.Sleep(100 * time.Millisecond) {
		healthy = inside(c.Healthcheck.Test[1:]...).Run() == nil
	}
	_ = server.Process.Signal(syscall.SIGTERM) // or it has ended
	err := <-ended
	if !healthy || err != nil || !strings.Contains(output.String(), "Triplane serves the Kubernetes API") {
		t.Errorf("in the image, healthy %v, ended with %v:\n%s", healthy, err, &output)
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
