package main

import (
	"slices"
	"testing"
)

func TestCommand(t *testing.T) {
	for _, c := range []struct {
		program string
		args    []string
		name    string
		rest    []string
	}{
		{"/usr/bin/triplane", []string{"--secure-port", "0"}, "", []string{"--secure-port", "0"}},
		{"assets/kube-apiserver", []string{"--secure-port", "0"}, "", []string{"--secure-port", "0"}},
		{"triplane", nil, "", nil},
		{"triplane", []string{"etcd", "--name", "a"}, "etcd", []string{"--name", "a"}},
		{"assets/etcd", []string{"--name", "a"}, "etcd", []string{"--name", "a"}},
		{"triplane", []string{"envtest-assets", "dir"}, "envtest-assets", []string{"dir"}},
		{"triplane", []string{"kubeconfig", "--data-dir", "d"}, "kubeconfig", []string{"--data-dir", "d"}},
		{"triplane", []string{"help", "keys"}, "help", []string{"keys"}},
		{"triplane", []string{"--data-dir", "etcd"}, "", []string{"--data-dir", "etcd"}},
	} {
		if name, rest := command(c.program, c.args); name != c.name || !slices.Equal(rest, c.rest) {
			t.Errorf("%s %q: %q %q", c.program, c.args, name, rest)
		}
	}
}
