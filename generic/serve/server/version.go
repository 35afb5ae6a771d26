package server

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/version"
)

// CompatibleVersion is the version of kube-apiserver that the server reports. Clients parse it and compare it with
// their own version, so it is not Triplane's version.
const CompatibleVersion = "v1.37.2"

// commit, date (RFC 3339) and release (v0.5.0) are set by the linker:
//
//	-ldflags "-X triplane.dev/generic/serve/server.commit=… -X triplane.dev/generic/serve/server.date=…"
//
// If commit and date are empty, DefaultVersion uses the VCS information that the Go command recorded.
var commit, date, release string

// Release returns the version of Triplane, "" for a build that is not a release.
func Release() string { return release }

// DefaultVersion returns the response of /version. Its Git fields describe Triplane's source; GitCommit is
// "triplane-", the release if there is one, and the commit.
func DefaultVersion() *version.Info {
	v := &version.Info{
		Major:                 "1",
		Minor:                 "37",
		EmulationMajor:        "1",
		EmulationMinor:        "37",
		MinCompatibilityMajor: "1",
		MinCompatibilityMinor: "36",
		GitVersion:            CompatibleVersion,
		GitTreeState:          "clean",
		GoVersion:             runtime.Version(),
		Compiler:              runtime.Compiler,
		Platform:              fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH),
	}
	recorded := recordedSource()
	if release != "" {
		v.GitCommit = release + "-"
	}
	v.GitCommit = "triplane-" + v.GitCommit + cmp.Or(commit, recorded["vcs.revision"], "unknown")
	v.BuildDate = cmp.Or(date, recorded["vcs.time"], "1970-01-01T00:00:00Z")
	if recorded["vcs.modified"] == "true" {
		v.GitTreeState = "dirty"
	}
	return v
}

// recordedSource returns the build settings that the Go command recorded in the binary.
func recordedSource() map[string]string {
	settings := map[string]string{}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			settings[s.Key] = s.Value
		}
	}
	return settings
}
