//go:build tools

// Package tools names the real programs that the end-to-end tests drive.
package tools

import (
	_ "go.etcd.io/etcd/server/v3"
	_ "k8s.io/sample-apiserver"
)
