package main

import (
	"archive/tar"
	"archive/zip"
	"compress/gzip"
	"crypto/sha256"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
)

// binary is the program for a platform.
type binary struct {
	system, processor string
	path              string
	size              int64
}

// standIn is the module whose package cmp stands in for the library, see its comment. A path in go.mod is relative to
// the source.
const standIn = "./hack/release/go-cmp"

// smaller writes a go.mod with the stand-in, and returns its path. The module's own go.mod cannot have it: the Go
// command does not install programs of modules that replace others.
func (r *release) smaller() (path string, err error) {
	path = filepath.Join(r.work(), "go.mod")
	content, err := os.ReadFile(filepath.Join(r.root, "go.mod"))
	if err != nil {
		return "", err
	}
	sums, err := os.ReadFile(filepath.Join(r.root, "go.sum"))
	if err != nil {
		return "", err
	}
	content = append(content, "\nreplace github.com/google/go-cmp => "+standIn+"\n"...)
	return path, errors.Join(os.MkdirAll(r.work(), 0o755), os.WriteFile(path, content, 0o644),
		os.WriteFile(filepath.Join(r.work(), "go.sum"), sums, 0o644))
}

// build builds the program as make build does, but with the stand-in.
func (r *release) build(platform string) (*binary, error) {
	system, processor, ok := strings.Cut(platform, "/")
	if !ok {
		return nil, fmt.Errorf("platform %q is not such as linux/amd64", platform)
	}
	b := &binary{system: system, processor: processor, path: filepath.Join(r.work(), system+"-"+processor, "triplane")}
	if system == "windows" {
		b.path += ".exe"
	}
	const pkg = "triplane.dev/generic/serve/server"
	stamp := fmt.Sprintf("-s -w -X %s.release=%s -X %s.commit=%s -X %s.date=%s",
		pkg, r.version, pkg, r.commit, pkg, r.date.Format("2006-01-02T15:04:05Z"))
	if err := os.MkdirAll(filepath.Dir(b.path), 0o755); err != nil {
		return nil, err
	}
	mod, err := r.smaller()
	if err != nil {
		return nil, err
	}
	build := exec.Command("go", "build", "-trimpath", "-buildvcs=false", "-tags=grpcnotrace", "-modfile", mod,
		"-ldflags", stamp, "-o", b.path, "./cmd/triplane")
	build.Dir = r.root
	build.Env = append(os.Environ(), "CGO_ENABLED=0", "GOOS="+system, "GOARCH="+processor, "GOFLAGS=", "GOWORK=off")
	if out, err := build.CombinedOutput(); err != nil {
		return nil, fmt.Errorf("go build for %s: %w\n%s", platform, err, out)
	}
	info, err := os.Stat(b.path)
	if err != nil {
		return nil, err
	}
	b.size = info.Size()
	return b, nil
}

// name is the name of an archive without its suffix.
func (r *release) name(b *binary) string {
	return fmt.Sprintf("triplane_%s_%s_%s", strings.TrimPrefix(r.version, "v"), b.system, b.processor)
}

// archive packs a binary and the texts beside it: zip for Windows, tar.gz for others.
func (r *release) archive(b *binary) (err error) {
	suffix, pack := ".tar.gz", r.tarball
	if b.system == "windows" {
		suffix, pack = ".zip", r.zip
	}
	f, err := os.Create(r.file(r.name(b) + suffix))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	return pack(f, []string{b.path, filepath.Join(r.root, "LICENSE"), filepath.Join(r.root, "README.md"),
		filepath.Join(r.root, "CHANGELOG.md")})
}

// mode is that of a file in an archive: the program is executable.
func mode(path string) os.FileMode {
	if strings.HasPrefix(filepath.Base(path), "triplane") {
		return 0o755
	}
	return 0o644
}

func (r *release) tarball(w io.Writer, paths []string) error {
	zipped, err := gzip.NewWriterLevel(w, gzip.BestCompression)
	if err != nil {
		return err
	}
	archive := tar.NewWriter(zipped)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header := &tar.Header{Name: filepath.Base(path), Mode: int64(mode(path)), Size: int64(len(content)), ModTime: r.date}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		if _, err := archive.Write(content); err != nil {
			return err
		}
	}
	return errors.Join(archive.Close(), zipped.Close())
}

// chart packs the Helm chart as "helm package" does, with the version of the release.
func (r *release) chart() (err error) {
	version := strings.TrimPrefix(r.version, "v")
	f, err := os.Create(r.file("triplane-chart-" + version + ".tgz"))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	zipped := gzip.NewWriter(f)
	archive := tar.NewWriter(zipped)
	source := os.DirFS(filepath.Join(r.root, "deploy", "chart"))
	err = fs.WalkDir(source, ".", func(name string, entry fs.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		content, err := fs.ReadFile(source, name)
		if err != nil {
			return err
		}
		if name == "Chart.yaml" {
			stamped := strings.NewReplacer("version: 0.0.0\n", "version: "+version+"\n", "appVersion: latest\n", "appVersion: "+r.version+"\n")
			content = []byte(stamped.Replace(string(content)))
		}
		header := &tar.Header{Name: "triplane/" + name, Mode: 0o644, Size: int64(len(content)), ModTime: r.date}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	return errors.Join(err, archive.Close(), zipped.Close())
}

func (r *release) zip(w io.Writer, paths []string) error {
	archive := zip.NewWriter(w)
	for _, path := range paths {
		content, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		header := &zip.FileHeader{Name: filepath.Base(path), Method: zip.Deflate, Modified: r.date}
		header.SetMode(mode(path))
		entry, err := archive.CreateHeader(header)
		if err != nil {
			return err
		}
		if _, err := entry.Write(content); err != nil {
			return err
		}
	}
	return archive.Close()
}

// checksums writes SHA256SUMS, which sha256sum -c reads.
func (r *release) checksums() error {
	var sums strings.Builder
	for _, name := range r.built {
		content, err := os.ReadFile(filepath.Join(r.out, name))
		if err != nil {
			return err
		}
		fmt.Fprintf(&sums, "%x  %s\n", sha256.Sum256(content), name)
	}
	return os.WriteFile(filepath.Join(r.out, "SHA256SUMS"), []byte(sums.String()), 0o644)
}
