// Command releasediff compares two releases of the public modules of Kubernetes and prints what a maintainer decides
// before the newer one is served. docs/releases.md describes the work that follows.
//
//	go run ./hack/releasediff -from v0.36.2 -to v0.37.2
//	go run ./hack/releasediff -from v0.36.2 -to v0.37.2 -from-server https://127.0.0.1:6443 -to-server https://127.0.0.1:7443 -token admin
//
// It reads the Go source of the API types (types, fields, markers, lifecycle, constants), and the flags of
// component-base. With two servers it also compares what they serve: discovery, the fields of OpenAPI, and the objects
// that a fresh server creates. Additions that the project does not have are marked "missing": their package is not
// imported, no Go file or table mentions their name, and leftout.txt does not list them with a reason.
package main
