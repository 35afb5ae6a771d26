package triplane

import (
	"cmp"
	"context"
	"crypto"
	"crypto/tls"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/util/uuid"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/generic/api/discovery"
	"triplane.dev/generic/guard/authentication/serviceaccount"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/serve/healthz"
	"triplane.dev/generic/serve/server"
	"triplane.dev/kubeapi/controllers"
	"triplane.dev/kubeapi/controllers/certificates"
)

// controllersHook is the name of the post-start hook of the controllers, and of its health check.
const controllersHook = "controllers"

// Controllers are the flags of the built-in controllers.
type Controllers struct {
	// Selection names controllers; nil means all with the embedded etcd, and none otherwise.
	Selection []string
	// RootCAFile is the CA by which pods verify this server; "" is the generated one.
	RootCAFile string
	// LegacyTokenCleanUpPeriod is how long a token in an automatic Secret may be unused before it is cleaned up.
	LegacyTokenCleanUpPeriod time.Duration
	// SigningCertFile and SigningKeyFile are the CA that signs certificates; "" is the generated one.
	// SigningDuration is the maximum lifetime of certificates.
	SigningCertFile, SigningKeyFile string
	SigningDuration                 time.Duration
	// TerminatedPods is how many terminated pods are kept; 0 keeps all.
	TerminatedPods int
	// NamespaceGracePeriod is the time between the deletion of a namespace and that of its content.
	NamespaceGracePeriod time.Duration
	// SimulateWorkloads makes workloads ready without nodes, for tests.
	SimulateWorkloads bool
}

func newControllers() *Controllers {
	return &Controllers{LegacyTokenCleanUpPeriod: 365 * 24 * time.Hour, SigningDuration: 365 * 24 * time.Hour,
		TerminatedPods: 12500}
}

func (c *Controllers) addFlags(fs *pflag.FlagSet) {
	fs.StringSliceVar(&c.Selection, "controllers", c.Selection,
		"The controllers that run in this server, in the syntax of kube-controller-manager: * for all that are "+
			"enabled by default, NAME to enable one, -NAME to disable one, none for none. If blank, * with the "+
			"embedded etcd and none with --etcd-servers. They wait while a kube-controller-manager holds its lease. "+
			"Available: "+strings.Join(controllers.Names(), ", ")+
			". Those of Deployments, ReplicaSets, StatefulSets and Jobs only simulate, and only with "+
			"--simulate-workloads: otherwise run kube-controller-manager for workloads, and set this flag to none.")
	fs.DurationVar(&c.NamespaceGracePeriod, "namespace-deletion-grace-period", c.NamespaceGracePeriod,
		"How long namespace-controller waits before it deletes the content of a deleted namespace, in which tests may "+
			"finalize the namespace themselves; it may wait a second longer. 0 does not wait.")
	fs.BoolVar(&c.SimulateWorkloads, "simulate-workloads", c.SimulateWorkloads,
		"For tests only: Deployments, ReplicaSets, StatefulSets and Jobs get pods that become Running, Ready or "+
			"Succeeded without nodes. No container runs. DaemonSets are not simulated, because their pods need nodes.")
	fs.StringVar(&c.RootCAFile, "root-ca-file", c.RootCAFile,
		"The CA of this server's certificate, in PEM. It is published to pods in the config map kube-root-ca.crt "+
			"and in Secrets with service account tokens. If blank, the CA in the administrator's kubeconfig.")
	fs.DurationVar(&c.LegacyTokenCleanUpPeriod, "legacy-service-account-token-clean-up-period",
		c.LegacyTokenCleanUpPeriod,
		"How long an automatically created service account token may be unused before its Secret is marked "+
			"invalid, and after that until it is deleted.")
	fs.StringVar(&c.SigningCertFile, "cluster-signing-cert-file", c.SigningCertFile,
		"The CA, in PEM, that signs certificates for approved CertificateSigningRequests. If blank, the "+
			"generated one, if there is one.")
	fs.StringVar(&c.SigningKeyFile, "cluster-signing-key-file", c.SigningKeyFile,
		"The key of --cluster-signing-cert-file.")
	fs.DurationVar(&c.SigningDuration, "cluster-signing-duration", c.SigningDuration,
		"The maximum lifetime of signed certificates.")
	fs.IntVar(&c.TerminatedPods, "terminated-pod-gc-threshold", c.TerminatedPods,
		"How many terminated pods are kept; of more, the oldest are deleted. 0 keeps all.")
}

// Validate returns an error for each invalid value.
func (c *Controllers) Validate() []error {
	var errs []error
	if err := controllers.ValidateSelection(c.Selection); err != nil {
		errs = append(errs, err)
	}
	if c.LegacyTokenCleanUpPeriod <= 0 {
		errs = append(errs, errors.New("--legacy-service-account-token-clean-up-period must be greater than 0"))
	}
	if (c.SigningCertFile == "") != (c.SigningKeyFile == "") {
		errs = append(errs,
			errors.New("--cluster-signing-cert-file and --cluster-signing-key-file must be given together"))
	}
	if c.NamespaceGracePeriod < 0 {
		errs = append(errs, errors.New("--namespace-deletion-grace-period cannot be negative"))
	}
	if c.SimulateWorkloads && c.Selection != nil && !controllers.Selects(c.Selection) {
		errs = append(errs, errors.New("--simulate-workloads needs controllers: remove --controllers=none"))
	}
	if c.SigningDuration <= 0 {
		errs = append(errs, errors.New("--cluster-signing-duration must be greater than 0"))
	}
	return errs
}

// selection returns the flag's value, or the default for the kind of storage.
func (c *Controllers) selection(embedded bool) []string {
	if c.Selection == nil && (embedded || c.SimulateWorkloads) {
		return []string{controllers.Everything}
	}
	return c.Selection
}

// addControllers creates the selected controllers, if any, and registers their start and stop. They start when all
// post-start hooks have succeeded. It returns their manager; nil if none is selected.
func addControllers(f *foundation, g *guards, outermost *server.GenericAPIServer) (*controllers.Manager, error) {
	o := f.options
	selection := o.Controllers.selection(o.Etcd.Embedded())
	if !controllers.Selects(selection) {
		return nil, nil
	}
	given, err := newControllerOptions(f, g.authn, selection)
	if err != nil {
		return nil, err
	}
	m, err := controllers.New(controllers.Config{
		Options: given,
		Stores:  f.stores, Storages: f.config.RESTOptionsGetter, Multiplexers: f.multiplexers,
		Public: outermost.Config().Discovery, Local: localIn(f.config.Discovery), Scheme: f.kinds.scheme,
		Loopback: f.config.LoopbackClientConfig, Elect: f.nested == nil && o.Etcd.MayHaveReplicas(),
		ID: controllersID(), Queues: f.config.Metrics.Queues, Turn: f.nested.Turns(),
	})
	if err != nil {
		return nil, fmt.Errorf("controllers: %w", err)
	}
	if f.nested == nil {
		if err := f.config.Metrics.Register(m.Metrics()); err != nil {
			return nil, err
		}
	}
	outermost.AddHealthChecks(healthz.NamedCheck(controllersHook, m.Check))
	if err := outermost.AddPreShutdownHook(controllersHook, m.Stop); err != nil {
		return nil, err
	}
	return m, outermost.AddPostStartHook("start-controllers", func(hook server.HookContext) error {
		hook.Go(func(ctx context.Context) { m.Run(ctx, hook.HooksDone) })
		return nil
	})
}

// newControllerOptions reads the files that the flags name.
func newControllerOptions(f *foundation, authn *authoptions.Authenticators, names []string) (controllers.Options,
	error) {
	c := f.options.Controllers
	o := controllers.Options{Selection: names, LegacyTokenCleanUpPeriod: c.LegacyTokenCleanUpPeriod,
		TerminatedPods: c.TerminatedPods, SimulateWorkloads: c.SimulateWorkloads,
		NamespaceGracePeriod: c.NamespaceGracePeriod}
	cert, key := c.SigningCertFile, c.SigningKeyFile
	// The generated CA is trusted for client certificates.
	if cert == "" && f.options.Authentication.ClientCAFile == f.files.CACert {
		cert, key = f.files.CACert, f.files.CAKey
	}
	// Certificates of the process are valid in all chains, so a workspace must not issue them.
	if cert != "" && f.nested == nil {
		o.SigningAuthority = func() (*certificates.Authority, error) {
			return readAuthority(cert, key, c.SigningDuration)
		}
		if _, err := o.SigningAuthority(); err != nil {
			return o, fmt.Errorf("--cluster-signing-cert-file: %w", err)
		}
	}
	if f.options.Authentication.ServiceAccount.SigningEndpoint == "" {
		o.TokenIssuer = serviceaccount.NewIssuer(authoptions.NestedLegacyIssuer(f.urlPath()), authn.Signer)
	}
	var err error
	o.RootCA, err = f.process.rootCA()
	return o, err
}

// newRootCA returns a function that returns the CA that controllers publish, nil without one. It reads the file once.
func newRootCA(o *Options, files pki.Files) func() ([]byte, error) {
	return sync.OnceValues(func() ([]byte, error) {
		name := cmp.Or(o.Controllers.RootCAFile, o.SecureServing.CertFile, files.CACert)
		if name == "" {
			return nil, nil
		}
		ca, err := os.ReadFile(name)
		if err != nil {
			return nil, fmt.Errorf("--root-ca-file: %w", err)
		}
		return ca, nil
	})
}

// readAuthority reads the CA that signs certificates.
func readAuthority(certFile, keyFile string, duration time.Duration) (*certificates.Authority, error) {
	pair, err := tls.LoadX509KeyPair(certFile, keyFile)
	if err != nil {
		return nil, err
	}
	key, ok := pair.PrivateKey.(crypto.Signer)
	if !ok {
		return nil, fmt.Errorf("%s contains no signing key", keyFile)
	}
	return &certificates.Authority{Certificate: pair.Leaf, Key: key, Duration: duration}, nil
}

// localIn returns a function that reports whether this process serves a version, rather than an external server.
func localIn(local *discovery.Groups) func(schema.GroupVersion) bool {
	return func(gv schema.GroupVersion) bool {
		_, ok := local.Get(gv)
		return ok || gv.Group == apiregistrationv1.GroupName
	}
}

// controllersID returns the identity of this replica in the lease of the controllers.
func controllersID() string {
	host, err := os.Hostname()
	if err != nil {
		host = "localhost"
	}
	return host + "_" + string(uuid.NewUUID())
}

// ControllerNames returns the names that --controllers accepts.
func ControllerNames() []string { return controllers.Names() }
