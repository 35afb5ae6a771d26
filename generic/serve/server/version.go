package server

import (
	"cmp"
	"fmt"
	"runtime"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/version"
)

// CompatibleVersion is the kube-apiserver that the server answers as. Clients
// parse it and compare it with their own version, so it is no version of Triplane.
const CompatibleVersion = "v1.36.2"

// commit and date (RFC 3339) are set by the linker:
//
//	-ldflags "-X triplane/generic/serve/server.commit=… -X triplane/generic/serve/server.date=…"
//
// Where they are not, DefaultVersion takes what the Go command recorded of the
// repository.
var commit, date string

// DefaultVersion is the answer of /version. Its Git fields are those of Triplane's
// source, which GitCommit says: "triplane-" and the commit.
func DefaultVersion() *version.Info {
	v := &version.Info{
		Major:                 "1",
		Minor:                 "36",
		EmulationMajor:        "1",
		EmulationMinor:        "36",
		MinCompatibilityMajor: "1",
		MinCompatibilityMinor: "35",
		GitVersion:            CompatibleVersion,
		GitTreeState:          "clean",
		GoVersion:             runtime.Version(),
		Compiler:              runtime.Compiler,
		Platform:              fmt.Sprintf("%s/%s", runtime.GOOS, runtime.GOARCH),
	}
	recorded := recordedSource()
	v.GitCommit = "triplane-" + cmp.Or(commit, recorded["vcs.revision"], "unknown")
	v.BuildDate = cmp.Or(date, recorded["vcs.time"], "1970-01-01T00:00:00Z")
	if recorded["vcs.modified"] == "true" {
		v.GitTreeState = "dirty"
	}
	return v
}

// recordedSource is what the Go command noted in the binary.
func recordedSource() map[string]string {
	settings := map[string]string{}
	if build, ok := debug.ReadBuildInfo(); ok {
		for _, s := range build.Settings {
			settings[s.Key] = s.Value
		}
	}
	return settings
}
