package apiserver

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"strings"

	"github.com/spf13/pflag"
	cliflag "k8s.io/component-base/cli/flag"

	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/run/coreplugins"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/options"
	"triplane.dev/generic/run/storageoptions"
)

// Options are all options of an extension API server. Create them with NewOptions.
type Options struct {
	// DataDir is the directory of the embedded etcd and of generated keys.
	DataDir string
	// Standalone serves without a core API server. The user of DataDir/admin.kubeconfig is allowed everything,
	// others nothing.
	Standalone bool
	// Out receives the output of the start; nil discards it.
	Out io.Writer

	ServerRun      *options.ServerRun
	SecureServing  *options.SecureServing
	Etcd           *storageoptions.Etcd
	Core           *authoptions.CoreAPI
	Authentication *authoptions.DelegatedAuthentication
	Authorization  *authoptions.DelegatedAuthorization
	Admission      *options.Admission
	Audit          *options.Audit
	Features       *options.Features
	Egress         *options.Egress
	Tracing        *options.Tracing

	own  func(*pflag.FlagSet)
	line *host.Line // the command line; nil without one
}

// NewOptions returns the defaults for a server. Its storage prefix is /registry/ and the name of its first group.
func NewOptions(s *Server) *Options {
	o := &Options{
		DataDir:        "." + s.Name,
		ServerRun:      options.NewServerRun(),
		SecureServing:  options.NewSecureServing(),
		Etcd:           storageoptions.NewEtcd(),
		Core:           &authoptions.CoreAPI{},
		Authentication: authoptions.NewDelegatedAuthentication(),
		Authorization:  authoptions.NewDelegatedAuthorization(),
		Admission:      options.NewAdmission(coreplugins.Names(s.Plugins)),
		Audit:          options.NewAudit(),
		Features:       options.NewFeatures(),
		Egress:         &options.Egress{},
		Tracing:        &options.Tracing{},
		own:            s.Flags,
	}
	o.SecureServing.BindPort = 443
	if len(s.Groups) > 0 {
		o.Etcd.Prefix = "/registry/" + s.Groups[0].Name
	}
	return o
}

// Flags returns the flags by concern.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	fs := sets.FlagSet("server")
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"Directory of the embedded etcd, and of generated keys and certificates. Later starts use its data.")
	fs.BoolVar(&o.Standalone, "standalone", o.Standalone,
		"Serve without a core API server: the user of admin.kubeconfig in --data-dir may do everything, others "+
			"nothing. There are no namespaces, webhooks and policies.")
	if o.own != nil {
		o.own(fs)
	}
	for _, concern := range []struct {
		name  string
		flags interface{ AddFlags(*pflag.FlagSet) }
	}{
		{"secure serving", o.SecureServing}, {"etcd", o.Etcd}, {"core API server", o.Core},
		{"authentication", o.Authentication},
		{"authorization", o.Authorization}, {"admission", o.Admission}, {"auditing", o.Audit}, {"generic", o.ServerRun},
		{"features", o.Features}, {"egress selector", o.Egress}, {"traces", o.Tracing},
	} {
		concern.flags.AddFlags(sets.FlagSet(concern.name))
	}
	return sets
}

// Validate returns all invalid values as one error; nil if there are none.
func (o *Options) Validate() error {
	var errs []error
	for _, v := range []interface{ Validate() []error }{
		o.ServerRun, o.SecureServing, o.Etcd, o.Authentication, o.Authorization, o.Admission, o.Audit,
	} {
		errs = append(errs, v.Validate()...)
	}
	if o.DataDir == "" {
		errs = append(errs, errors.New("--data-dir cannot be empty"))
	}
	if given := o.delegated(); o.Standalone && len(given) > 0 {
		errs = append(errs, fmt.Errorf("--standalone and --%s exclude each other", strings.Join(given, ", --")))
	}
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	if len(texts) == 0 {
		return nil
	}
	return errors.New(strings.Join(texts, "; "))
}

// delegated returns the set flags that need a core API server.
func (o *Options) delegated() (given []string) {
	for _, f := range [][2]string{
		{"kubeconfig", o.Core.KubeconfigFile}, {"authentication-kubeconfig", o.Authentication.KubeconfigFile},
		{"authorization-kubeconfig", o.Authorization.KubeconfigFile}, {"client-ca-file", o.Authentication.ClientCAFile},
		{"requestheader-client-ca-file", o.Authentication.RequestHeader.ClientCAFile},
	} {
		if f[1] != "" {
			given = append(given, f[0])
		}
	}
	return given
}

// complete returns a copy with defaults for unset values.
func (o *Options) complete() (*Options, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	done := *o
	serving, etcd, run := *o.SecureServing, *o.Etcd, *o.ServerRun
	done.SecureServing, done.Etcd, done.ServerRun = &serving, &etcd, &run
	etcd.Complete()
	var err error
	if done.DataDir, err = filepath.Abs(o.DataDir); err != nil {
		return nil, err
	}
	if serving.BindAddress == nil {
		serving.BindAddress = net.IPv4zero
		if o.Standalone {
			serving.BindAddress = net.IPv4(127, 0, 0, 1)
		}
	}
	return &done, nil
}

// needsDataDir reports whether files are needed below the data directory.
func (o *Options) needsDataDir() bool {
	return o.Etcd.Embedded() && !o.Etcd.Memory || o.Standalone || o.SecureServing.CertFile == "" &&
		o.SecureServing.CertDir == ""
}
