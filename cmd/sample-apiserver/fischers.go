package main

import (
	"triplane.dev/apiserver"
	"triplane.dev/cmd/sample-apiserver/v1alpha1"
)

// fischers declares the kind Fischer.
func fischers() apiserver.Kind[*v1alpha1.Fischer] {
	return apiserver.Kind[*v1alpha1.Fischer]{
		Hub:   v1alpha1.GroupVersion.WithKind("Fischer"),
		Write: apiserver.Write[*v1alpha1.Fischer]{ValidateName: anyName},
	}
}

// anyName accepts all names that are valid in a path.
func anyName(string, bool) []string { return nil }
