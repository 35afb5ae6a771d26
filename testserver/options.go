package testserver

import (
	"slices"

	"triplane"
)

const (
	allControllers = "*"
	noControllers  = "none"
	// accountsController makes the service account of each namespace.
	accountsController = "serviceaccount-controller"
)

// Option sets what a server is like.
type Option func(*settings)

type settings struct {
	options *triplane.Options
	crds    []string
}

// WithControllers runs controllers of the API: those of the names, in the syntax of the flag
// --controllers, or without names all of them. Namespaces are emptied and dependents collected
// then, and each namespace gets its service account. Pods that name a node go after 40 s
// where there is no such Node, unless "-pod-garbage-collector-controller" follows "*".
func WithControllers(names ...string) Option {
	return func(s *settings) {
		if len(names) == 0 {
			names = []string{allControllers}
		}
		s.options.Controllers.Selection = names
		s.options.Admission.Disable = nil
	}
}

// WithCRDs installs the CustomResourceDefinitions in files, or in the files of directories, as
// InstallCRDs does; Reset keeps them.
func WithCRDs(paths ...string) Option {
	return func(s *settings) { s.crds = append(s.crds, paths...) }
}

// WithEtcd keeps objects in the embedded etcd, in a directory of the test, as the program
// does: each write is synced to the disk.
func WithEtcd() Option { return func(s *settings) { s.options.Etcd.Memory = false } }

// WithOptions changes any of the server's options: all that flags set.
func WithOptions(change func(*triplane.Options)) Option {
	return func(s *settings) { change(s.options) }
}

// newSettings are those of a server with its files in dir.
func newSettings(dir string, opts []Option) *settings {
	o := triplane.NewOptions()
	o.DataDir = dir
	o.SecureServing.BindPort = 0
	o.SecureServing.ECDSA = true
	o.Etcd.Memory = true
	o.Controllers.Selection = []string{noControllers}
	// Without the controller of service accounts no pod could be created.
	o.Admission.Disable = []string{"ServiceAccount"}
	s := &settings{options: o}
	for _, set := range opts {
		set(s)
	}
	return s
}

// makesAccounts reports whether a controller makes the service accounts of namespaces.
func (s *settings) makesAccounts() bool {
	selected := s.options.Controllers.Selection
	return !slices.Contains(selected, "-"+accountsController) &&
		(slices.Contains(selected, allControllers) || slices.Contains(selected, accountsController))
}
