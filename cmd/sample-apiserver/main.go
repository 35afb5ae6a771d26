package main

import (
	"k8s.io/apimachinery/pkg/version"

	"triplane.dev/apiserver"
	"triplane.dev/cmd/sample-apiserver/v1alpha1"
	"triplane.dev/generic/serve/server"
)

func main() {
	apiserver.Main(apiserver.Server{
		Name: "sample-apiserver", Title: "Wardle", Version: wardleVersion(),
		Groups: []apiserver.Group{{
			Name: v1alpha1.GroupVersion.Group, Versions: []string{"v1beta1", "v1alpha1"},
			Resources: []apiserver.Resource{apiserver.NewResource(flunders()), apiserver.NewResource(fischers())},
		}},
		Plugins: []apiserver.AdmissionPlugin{{Name: "BanFlunder", OnByDefault: true, New: newBanFlunder}},
	})
}

// wardleVersion is the version of the program and its API.
func wardleVersion() *version.Info {
	v := server.DefaultVersion()
	v.Major, v.Minor, v.GitVersion = "1", "2", "v1.2.0"
	v.EmulationMajor, v.EmulationMinor, v.MinCompatibilityMajor, v.MinCompatibilityMinor = "1", "2", "1", "1"
	return v
}
