// Command release writes what a release consists of into a directory: for each platform an archive with the
// binary, its SBOM (SPDX), an image for several processors as an OCI layout in an archive, the Helm chart, SHA256SUMS,
// and notes from the commits. Two runs for a commit with the same release of Go write the same bytes.
//
//	go run -C hack/release . -version v0.5.0 -out ../../dist
//
// It is a separate module, so that the library for images is no requirement of the server.
package main
