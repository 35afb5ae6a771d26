package testserver

import (
	"slices"

	"triplane.dev"
)

const (
	allControllers = "*"
	noControllers  = "none"
)

// Option changes the options of a server.
type Option func(*settings)

type settings struct {
	options *triplane.Options
	crds    []string
}

// WithControllers runs the named controllers, in the syntax of the flag --controllers; without names it runs all.
// They delete the content of namespaces and dependents, and create the service account of each namespace. Pods
// whose node does not exist are deleted after 40 s, unless "-pod-garbage-collector-controller" follows "*".
func WithControllers(names ...string) Option {
	return func(s *settings) {
		if len(names) == 0 {
			names = []string{allControllers}
		}
		s.options.Controllers.Selection = names
		s.options.Admission.Disable = nil
	}
}

// WithSimulatedWorkloads makes Deployments, ReplicaSets, StatefulSets and Jobs ready without nodes, as the flag
// --simulate-workloads does: their pods become Running, Ready or Succeeded, but no container runs. It runs all
// controllers, unless WithControllers precedes it.
func WithSimulatedWorkloads() Option {
	return func(s *settings) {
		if slices.Equal(s.options.Controllers.Selection, []string{noControllers}) {
			WithControllers()(s)
		}
		s.options.Controllers.SimulateWorkloads = true
	}
}

// WithCRDs installs the CustomResourceDefinitions in files and directories, like InstallCRDs. Reset keeps them.
func WithCRDs(paths ...string) Option {
	return func(s *settings) { s.crds = append(s.crds, paths...) }
}

// WithEtcd stores objects in the embedded etcd, in a directory of the test. As in the program, each write is
// synced to disk.
func WithEtcd() Option { return func(s *settings) { s.options.Etcd.Memory = false } }

// WithOptions changes any option that the server's flags set.
func WithOptions(change func(*triplane.Options)) Option {
	return func(s *settings) { change(s.options) }
}

// newSettings returns the settings of a server with its files in dir.
func newSettings(dir string, opts []Option) *settings {
	o := triplane.NewOptions()
	o.DataDir = dir
	o.SecureServing.BindPort = 0
	o.Etcd.Memory = true
	o.Controllers.Selection = []string{noControllers}
	// Without the controller of service accounts the plugin rejects all pods.
	o.Admission.Disable = []string{"ServiceAccount"}
	s := &settings{options: o}
	for _, set := range opts {
		set(s)
	}
	return s
}
