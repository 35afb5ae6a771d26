#!/bin/sh
# Generates from the Go types of k8s.io/*
#   generic/api/openapi/models/models.json.gz   with kube-openapi's generator
#   kubeapi/fieldgates/markers.txt              from the types' markers
# Run it after a change of the k8s.io release.
set -eu
cd "$(dirname "$0")"
packages=$(sed -n 's/^\t_ "\(.*\)"$/\1/p' models/doc.go | grep -v kube-openapi)
header=$(mktemp)
trap 'rm -f "$header" models/generated.openapi.go' EXIT
go run ./gates "$(go list -m -f '{{.Dir}}' k8s.io/api)" ../../generic/run/options/removedgates.txt \
	> ../../kubeapi/fieldgates/markers.txt
# shellcheck disable=SC2086 # one argument a package
go tool openapi-gen --output-dir models --output-pkg triplane.dev/hack/openapi/models \
	--output-file generated.openapi.go --go-header-file "$header" -r /dev/null $packages
go run -tags generate . ../../generic/api/openapi/models/models.json.gz
