package main

import (
	"errors"
	"flag"
	"fmt"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"time"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "release:", err)
		os.Exit(1)
	}
}

// release is what all files of a release have in common.
type release struct {
	// root is the folder of the source, out of the files of the release.
	root, out string
	version   string
	commit    string
	date      time.Time
	// built are the files of the release, in order.
	built []string
}

// semantic is the form of versions.
var semantic = regexp.MustCompile(`^v\d+\.\d+\.\d+(-[0-9A-Za-z.-]+)?$`)

func run(args []string) error {
	fs := flag.NewFlagSet("release", flag.ContinueOnError)
	version := fs.String("version", "", "The version, such as v0.5.0.")
	out := fs.String("out", "../../dist", "The directory to create.")
	root := fs.String("root", "../..", "The source of the release.")
	since := fs.String("since", "", "The commit or tag of the former release; by default the last tag, if there is one.")
	platforms := fs.String("platforms", "linux/amd64,linux/arm64,darwin/amd64,darwin/arm64,windows/amd64,windows/arm64",
		"The platforms, comma separated. Those of Linux are in the image.")
	if err := fs.Parse(args); err != nil {
		return err
	}
	if !semantic.MatchString(*version) {
		return fmt.Errorf("-version %q is not such as v0.5.0", *version)
	}
	r := &release{root: *root, version: *version}
	var err error
	if r.out, err = filepath.Abs(*out); err != nil {
		return err
	}
	if err := r.source(); err != nil {
		return err
	}
	if entries, err := os.ReadDir(r.out); err == nil && len(entries) > 0 {
		return fmt.Errorf("%s is not empty: remove it", r.out)
	}
	return errors.Join(r.write(strings.Split(*platforms, ","), *since), os.RemoveAll(r.work()))
}

// source reads commit and date of the source.
func (r *release) source() error {
	described, err := r.git("log", "-1", "--format=%H %ct")
	if err != nil {
		return err
	}
	var seconds int64
	if _, err := fmt.Sscanf(described, "%s %d", &r.commit, &seconds); err != nil {
		return fmt.Errorf("git log: %q: %w", described, err)
	}
	r.date = time.Unix(seconds, 0).UTC()
	return nil
}

// write writes all files of the release.
func (r *release) write(platforms []string, since string) error {
	var images []*binary
	var sizes []string
	for _, platform := range platforms {
		b, err := r.build(platform)
		if err != nil {
			return err
		}
		if err := errors.Join(r.archive(b), r.sbom(b)); err != nil {
			return err
		}
		sizes = append(sizes, fmt.Sprintf("| %s | %.1f MB |", platform, float64(b.size)/1e6))
		if b.system == "linux" {
			images = append(images, b)
		}
	}
	if len(images) > 0 {
		if err := r.image(images); err != nil {
			return err
		}
	}
	if err := errors.Join(r.chart(), r.checksums()); err != nil {
		return err
	}
	return r.notes(since, sizes)
}

// work is the directory of binaries before they are packed.
func (r *release) work() string { return filepath.Join(r.out, ".work") }

// file adds a file to the release, and returns its path.
func (r *release) file(name string) string {
	r.built = append(r.built, name)
	return filepath.Join(r.out, name)
}
