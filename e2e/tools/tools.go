//go:build tools

// Package tools names the real programs that the end-to-end tests drive.
package tools

import (
	_ "github.com/summerwind/h2spec/cmd/h2spec"
	_ "go.etcd.io/etcd/etcdctl/v3"
	_ "go.etcd.io/etcd/server/v3"
	_ "helm.sh/helm/v4/cmd/helm"
	_ "k8s.io/sample-apiserver"
	_ "sigs.k8s.io/controller-runtime/examples/builtins"
	_ "sigs.k8s.io/controller-runtime/examples/crd"
)
