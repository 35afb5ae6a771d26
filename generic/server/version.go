package server

import (
	"fmt"
	"runtime"
	"runtime/debug"

	"k8s.io/apimachinery/pkg/version"
)

// CompatibleVersion is the kube-apiserver that the server answers as.
const CompatibleVersion = "v1.36.2"

// DefaultVersion is what /version tells. The git fields come from the build.
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
	build, ok := debug.ReadBuildInfo()
	if !ok {
		return v
	}
	for _, s := range build.Settings {
		switch s.Key {
		case "vcs.revision":
			v.GitCommit = s.Value
		case "vcs.time":
			v.BuildDate = s.Value
		case "vcs.modified":
			if s.Value == "true" {
				v.GitTreeState = "dirty"
			}
		}
	}
	return v
}
