package main

import (
	"archive/tar"
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"strings"

	v1 "github.com/google/go-containerregistry/pkg/v1"
	"github.com/google/go-containerregistry/pkg/v1/empty"
	"github.com/google/go-containerregistry/pkg/v1/layout"
	"github.com/google/go-containerregistry/pkg/v1/mutate"
	"github.com/google/go-containerregistry/pkg/v1/tarball"
	"github.com/google/go-containerregistry/pkg/v1/types"
)

// user is the one of the image, which has no /etc/passwd.
const user = 65532

// roots are where systems have the certificates of public authorities, for webhooks and issuers of tokens.
var roots = []string{"/etc/ssl/certs/ca-certificates.crt", "/etc/pki/tls/certs/ca-bundle.crt", "/etc/ssl/cert.pem"}

// image writes an OCI layout with an image for each Linux binary, as an archive that docker load, podman load and
// skopeo read (oci-archive). Configuration and files are those of deploy/Dockerfile.
func (r *release) image(binaries []*binary) error {
	index := mutate.IndexMediaType(empty.Index, types.OCIImageIndex)
	for _, b := range binaries {
		img, err := r.platformImage(b)
		if err != nil {
			return err
		}
		index = mutate.AppendManifests(index, mutate.IndexAddendum{Add: img,
			Descriptor: v1.Descriptor{Platform: &v1.Platform{OS: b.system, Architecture: b.processor}}})
	}
	dir := filepath.Join(r.work(), "layout")
	at, err := layout.Write(dir, empty.Index)
	if err != nil {
		return err
	}
	name := map[string]string{"org.opencontainers.image.ref.name": r.version,
		"io.containerd.image.name": "docker.io/library/triplane:" + r.version}
	if err := at.AppendIndex(index, layout.WithAnnotations(name)); err != nil {
		return err
	}
	return r.pack(dir, fmt.Sprintf("triplane_%s_image.oci.tar", strings.TrimPrefix(r.version, "v")))
}

// platformImage returns the image of a binary.
func (r *release) platformImage(b *binary) (v1.Image, error) {
	content, err := r.layer(b)
	if err != nil {
		return nil, err
	}
	layer, err := tarball.LayerFromOpener(func() (io.ReadCloser, error) {
		return io.NopCloser(bytes.NewReader(content)), nil
	}, tarball.WithMediaType(types.OCILayer))
	if err != nil {
		return nil, err
	}
	base := mutate.ConfigMediaType(mutate.MediaType(empty.Image, types.OCIManifestSchema1), types.OCIConfigJSON)
	img, err := mutate.Append(base, mutate.Addendum{Layer: layer,
		History: v1.History{CreatedBy: "hack/release", Created: v1.Time{Time: r.date}}})
	if err != nil {
		return nil, err
	}
	config, err := img.ConfigFile()
	if err != nil {
		return nil, err
	}
	config = config.DeepCopy()
	config.OS, config.Architecture, config.Created = b.system, b.processor, v1.Time{Time: r.date}
	config.Config = v1.Config{
		User: fmt.Sprintf("%d:%d", user, user), Env: []string{"PATH=/usr/local/bin"},
		Entrypoint: []string{"triplane"}, Cmd: []string{"--data-dir=/data", "--bind-address=0.0.0.0"},
		ExposedPorts: map[string]struct{}{"6443/tcp": {}}, Volumes: map[string]struct{}{"/data": {}},
		// Docker and podman run it; Kubernetes uses the probes of the manifests instead.
		Healthcheck: &v1.HealthConfig{Test: []string{"CMD", "triplane", "status", "--ready", "--data-dir=/data"}},
		Labels: map[string]string{
			"org.opencontainers.image.title":    "triplane",
			"org.opencontainers.image.version":  r.version,
			"org.opencontainers.image.revision": r.commit,
			"org.opencontainers.image.created":  r.date.Format("2006-01-02T15:04:05Z"),
			"org.opencontainers.image.licenses": "Apache-2.0",
		},
	}
	return mutate.ConfigFile(img, config)
}

// layer returns the files of the image.
func (r *release) layer(b *binary) ([]byte, error) {
	program, err := os.ReadFile(b.path)
	if err != nil {
		return nil, err
	}
	var certificates []byte
	for _, path := range roots {
		if certificates, err = os.ReadFile(path); err == nil {
			break
		}
	}
	if err != nil {
		return nil, fmt.Errorf("no certificates of public authorities: %w", err)
	}
	var out bytes.Buffer
	archive := tar.NewWriter(&out)
	add := func(h tar.Header, content []byte) {
		h.ModTime, h.Size, h.Format = r.date, int64(len(content)), tar.FormatPAX
		err = errors.Join(err, archive.WriteHeader(&h))
		_, written := archive.Write(content)
		err = errors.Join(err, written)
	}
	for _, dir := range []string{"etc/", "etc/ssl/", "etc/ssl/certs/", "usr/", "usr/local/", "usr/local/bin/"} {
		add(tar.Header{Typeflag: tar.TypeDir, Name: dir, Mode: 0o755}, nil)
	}
	add(tar.Header{Typeflag: tar.TypeDir, Name: "data/", Mode: 0o700, Uid: user, Gid: user}, nil)
	add(tar.Header{Typeflag: tar.TypeDir, Name: "tmp/", Mode: 0o1777}, nil)
	add(tar.Header{Typeflag: tar.TypeReg, Name: "etc/ssl/certs/ca-certificates.crt", Mode: 0o644}, certificates)
	add(tar.Header{Typeflag: tar.TypeReg, Name: "usr/local/bin/triplane", Mode: 0o755}, program)
	for _, name := range []string{"kube-apiserver", "etcd"} {
		add(tar.Header{Typeflag: tar.TypeSymlink, Name: "usr/local/bin/" + name, Linkname: "triplane", Mode: 0o777}, nil)
	}
	return out.Bytes(), errors.Join(err, archive.Close())
}

// pack packs a directory, whose files are compressed already.
func (r *release) pack(dir, name string) (err error) {
	f, err := os.Create(r.file(name))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, f.Close()) }()
	archive := tar.NewWriter(f)
	err = fs.WalkDir(os.DirFS(dir), ".", func(path string, d fs.DirEntry, err error) error {
		if err != nil || d.IsDir() {
			return err
		}
		content, err := os.ReadFile(filepath.Join(dir, path))
		if err != nil {
			return err
		}
		header := &tar.Header{Name: path, Mode: 0o644, Size: int64(len(content)), ModTime: r.date}
		if err := archive.WriteHeader(header); err != nil {
			return err
		}
		_, err = archive.Write(content)
		return err
	})
	return errors.Join(err, archive.Close())
}
