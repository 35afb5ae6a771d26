package triplane

import (
	"errors"
	"fmt"
	"io"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	cliflag "k8s.io/component-base/cli/flag"

	genericadmission "triplane/generic/guard/admission"
	"triplane/generic/run/host"
	"triplane/generic/run/options"
	"triplane/kubeapi"
	"triplane/kubeapi/admission"
	"triplane/kubeapi/controllers/leadership"
	"triplane/kubeapi/kubelet"
)

// Options are all that can be set by flags. Get one from NewOptions.
type Options struct {
	// DataDir is where the embedded store and generated keys are.
	DataDir string
	// Out is where the few lines about the start go; nil discards them.
	Out io.Writer

	ServerRun      *options.ServerRun
	SecureServing  *options.SecureServing
	Etcd           *options.Etcd
	Authentication *options.Authentication
	Authorization  *options.Authorization
	Admission      *options.Admission
	Audit          *options.Audit
	Features       *options.Features
	Compatibility  *options.Compatibility
	Egress         *options.Egress
	Tracing        *options.Tracing
	Kube           *Kube
	Controllers    *Controllers
	Console        *Console
	Join           *Join
	Ignored        *options.Ignored
	// KeepKubeconfig leaves the data directory's KubeconfigFile as it is, rather than to write it.
	KeepKubeconfig bool

	plugins []genericadmission.Plugin
	line    *host.Line // the command line; nil where there was none
	// repairEvery is how often what the server creates for itself is looked after; 0 is
	// the default.
	repairEvery time.Duration
}

// Kube is what concerns the built-in kinds and external API servers.
type Kube struct {
	AllowPrivileged     bool
	ServiceClusterIPs   string
	ServiceNodePorts    utilnet.PortRange
	EventTTL            time.Duration
	ProxyClientCertFile string
	ProxyClientKeyFile  string
	AggregatorRouting   bool
	RejectRedirects     bool
	Peers               Peers
	RuntimeConfig       options.RuntimeConfig
	// EndpointReconciler is "lease", "master-count" or "none": how this replica keeps its
	// address among the endpoints of the Service kubernetes.
	EndpointReconciler string
	// APIServerCount is how many replicas there are, for master-count.
	APIServerCount int
	// ServiceNodePort makes the Service kubernetes a NodePort one.
	ServiceNodePort int
	Tolerations     admission.TolerationOptions
	// Leadership is how long the Leases of coordinated leader election last.
	Leadership leadership.Durations
	// Kubelet is how to reach the kubelets of nodes.
	Kubelet kubelet.Config
}

// KubeconfigFile is the name of the administrator's kubeconfig in the data directory.
const KubeconfigFile = "admin.kubeconfig"

// Values of Kube.EndpointReconciler.
const (
	ReconcilerLease = "lease"
	ReconcilerNone  = "none"
	// ReconcilerMasterCount is deprecated: it knows replicas by their number rather than by leases.
	ReconcilerMasterCount = "master-count"
)

const (
	defaultServiceCIDR = "10.0.0.0/24"
	defaultIssuer      = "https://kubernetes.default.svc.cluster.local"
)

// NewOptions returns the defaults.
func NewOptions() *Options {
	return &Options{
		DataDir:        ".triplane",
		ServerRun:      options.NewServerRun(),
		SecureServing:  options.NewSecureServing(),
		Etcd:           options.NewEtcd(),
		Authentication: options.NewAuthentication(),
		Authorization:  options.NewAuthorization(),
		Admission:      options.NewAdmission(admissionPlugins(nil)),
		Audit:          options.NewAudit(),
		Features:       options.NewFeatures(),
		Compatibility:  options.NewCompatibility(),
		Egress:         &options.Egress{},
		Tracing:        &options.Tracing{},
		Kube: &Kube{
			ServiceNodePorts: utilnet.PortRange{Base: 30000, Size: 2768},
			EventTTL:         time.Hour,
			RejectRedirects:  true,

			EndpointReconciler: ReconcilerLease,
			APIServerCount:     1,
			Tolerations:        admission.DefaultTolerationOptions(),
			Leadership:         leadership.DefaultDurations(),
			Kubelet:            kubelet.DefaultConfig(),
		},
		Controllers: newControllers(),
		Console:     &Console{},
		Join:        &Join{},
		Ignored:     &options.Ignored{},
	}
}

// AddAdmissionPlugins adds plugins of the program that embeds the server. They run in this
// order, before the policies and webhooks of the API. It is called before Flags, if at all.
func (o *Options) AddAdmissionPlugins(plugins ...genericadmission.Plugin) {
	o.plugins = append(o.plugins, plugins...)
	o.Admission.Known, o.Admission.Default = admissionPlugins(o.plugins)
}

// admissionPlugins are the names of all plugins, and those that run unless
// switched off.
func admissionPlugins(own []genericadmission.Plugin) (known, byDefault []string) {
	for _, p := range admission.WithOwn(own) {
		known = append(known, p.Name)
		if p.OnByDefault {
			byDefault = append(byDefault, p.Name)
		}
	}
	return known, byDefault
}

// Flags returns the flags by concern.
func (o *Options) Flags() cliflag.NamedFlagSets {
	var sets cliflag.NamedFlagSets
	fs := sets.FlagSet("triplane")
	fs.StringVar(&o.DataDir, "data-dir", o.DataDir,
		"Where the embedded etcd, generated keys and certificates and admin.kubeconfig are kept. A later start goes on with what is there.")
	o.Console.addFlags(fs)
	o.SecureServing.AddFlags(sets.FlagSet("secure serving"))
	o.Etcd.AddFlags(sets.FlagSet("etcd"))
	o.Join.addFlags(sets.FlagSet("etcd"))
	o.Authentication.AddFlags(sets.FlagSet("authentication"))
	o.Authorization.AddFlags(sets.FlagSet("authorization"))
	o.Admission.AddFlags(sets.FlagSet("admission"))
	o.ServerRun.AddFlags(sets.FlagSet("generic"))
	o.Audit.AddFlags(sets.FlagSet("auditing"))
	o.Features.AddFlags(sets.FlagSet("features"))
	o.Compatibility.AddFlags(sets.FlagSet("generic"))
	o.Egress.AddFlags(sets.FlagSet("egress selector"))
	o.Tracing.AddFlags(sets.FlagSet("traces"))
	o.Kube.addFlags(sets.FlagSet("misc"))
	o.Kube.addKubeletFlags(sets.FlagSet("kubelet"))
	o.Controllers.addFlags(sets.FlagSet("controllers"))
	o.Ignored.AddFlags(sets.FlagSet("ignored"))
	return sets
}

func (k *Kube) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&k.AllowPrivileged, "allow-privileged", k.AllowPrivileged, "Allow privileged containers.")
	k.addLeadershipFlags(fs)
	fs.StringVar(&k.ServiceClusterIPs, "service-cluster-ip-range", k.ServiceClusterIPs,
		"The range of cluster IPs of Services, or two of different families, comma separated. "+defaultServiceCIDR+" if blank.")
	fs.Var(&k.ServiceNodePorts, "service-node-port-range", "The range of node ports of Services.")
	fs.IntVar(&k.ServiceNodePort, "kubernetes-service-node-port", k.ServiceNodePort,
		"The node port of the Service kubernetes; 0 leaves it without one.")
	fs.StringVar(&k.EndpointReconciler, "endpoint-reconciler-type", k.EndpointReconciler,
		"How the endpoints of the Service kubernetes are kept: lease, none, or master-count, which is deprecated: without leases, as many as --apiserver-count.")
	fs.IntVar(&k.APIServerCount, "apiserver-count", k.APIServerCount, "How many API servers there are, with --endpoint-reconciler-type=master-count.")
	_ = fs.MarkDeprecated("apiserver-count", "apiserver-count is deprecated and will be removed in a future version.")
	fs.Var(&k.RuntimeConfig, "runtime-config", "API versions to serve or not: group/version=true|false, v1 for the core group, "+
		"group/version/resource or v1/resource, or api/all, api/ga, api/beta and api/alpha, comma separated. "+
		"A version or resource that a part of the server reads cannot be turned off without that part.")
	fs.Int64Var(&k.Tolerations.NotReadySeconds, "default-not-ready-toleration-seconds", k.Tolerations.NotReadySeconds,
		"How many seconds pods stay on a node that is not ready, unless they say otherwise.")
	fs.Int64Var(&k.Tolerations.UnreachableSeconds, "default-unreachable-toleration-seconds", k.Tolerations.UnreachableSeconds,
		"How many seconds pods stay on a node that cannot be reached, unless they say otherwise.")
	fs.DurationVar(&k.EventTTL, "event-ttl", k.EventTTL, "How long events are kept. 0 keeps them for good.")
	fs.StringVar(&k.ProxyClientCertFile, "proxy-client-cert-file", k.ProxyClientCertFile,
		"The client certificate that is shown to external API servers, signed by --requestheader-client-ca-file. If blank, a generated one.")
	fs.StringVar(&k.ProxyClientKeyFile, "proxy-client-key-file", k.ProxyClientKeyFile, "The key of --proxy-client-cert-file.")
	fs.BoolVar(&k.AggregatorRouting, "enable-aggregator-routing", k.AggregatorRouting,
		"Reach external API servers at the endpoints of their Service rather than its cluster IP.")
	fs.BoolVar(&k.RejectRedirects, "aggregator-reject-forwarding-redirect", k.RejectRedirects,
		"Do not hand redirects of external API servers to clients.")
	k.Peers.addFlags(fs)
}

// Validate returns all that is wrong, as one error; nil if nothing is.
func (o *Options) Validate() error {
	var errs []error
	for _, v := range []interface{ Validate() []error }{
		o.ServerRun, o.SecureServing, o.Etcd, o.Authentication, o.Authorization, o.Admission, o.Audit, o.Kube, o.Controllers, o.Features, o.Compatibility,
	} {
		errs = append(errs, v.Validate()...)
	}
	errs = append(errs, o.servedTooEarly()...)
	errs = append(errs, o.validateJoin()...)
	if o.DataDir == "" {
		errs = append(errs, errors.New("--data-dir cannot be empty"))
	}
	if len(errs) == 0 {
		return nil
	}
	var texts []string
	for _, err := range errs {
		texts = append(texts, err.Error())
	}
	return errors.New(strings.Join(texts, "; "))
}

// Validate returns what is wrong.
func (k *Kube) Validate() []error {
	var errs []error
	if _, err := k.serviceCIDRs(); err != nil {
		errs = append(errs, err)
	}
	if (k.ProxyClientCertFile == "") != (k.ProxyClientKeyFile == "") {
		errs = append(errs, errors.New("--proxy-client-cert-file and --proxy-client-key-file must be given together"))
	}
	if k.ServiceNodePorts.Base < 0 || k.ServiceNodePorts.Base+k.ServiceNodePorts.Size > 65536 {
		errs = append(errs, fmt.Errorf("--service-node-port-range %v is no range of ports", k.ServiceNodePorts))
	}
	if !slices.Contains([]string{ReconcilerLease, ReconcilerMasterCount, ReconcilerNone}, k.EndpointReconciler) {
		errs = append(errs, fmt.Errorf("--endpoint-reconciler-type must be %s, %s or %s, not %q", ReconcilerLease, ReconcilerMasterCount, ReconcilerNone, k.EndpointReconciler))
	}
	if k.APIServerCount < 1 {
		errs = append(errs, fmt.Errorf("--apiserver-count %d must be a positive number", k.APIServerCount))
	}
	if k.Peers.CAFile != "" && k.ProxyClientCertFile == "" {
		errs = append(errs, errors.New("--peer-ca-file needs --proxy-client-cert-file and --proxy-client-key-file, which other servers know this one by"))
	}
	if k.ServiceNodePort < 0 || k.ServiceNodePort > 0 && !k.ServiceNodePorts.Contains(k.ServiceNodePort) {
		errs = append(errs, fmt.Errorf("--kubernetes-service-node-port %d is not in the range %v", k.ServiceNodePort, k.ServiceNodePorts))
	}
	errs = append(errs, k.validateKubelet()...)
	errs = append(errs, k.Peers.Validate()...)
	errs = append(errs, k.Leadership.Validate()...)
	errs = append(errs, k.RuntimeConfig.Validate(kubeapi.ServesGroup, kubeapi.KnowsVersion)...)
	if k.EventTTL < 0 {
		errs = append(errs, errors.New("--event-ttl cannot be negative"))
	}
	return errs
}

// replicas is how many servers keep the endpoints without leases; 0 where they have leases.
func (k *Kube) replicas() int {
	if k.EndpointReconciler == ReconcilerMasterCount {
		return k.APIServerCount
	}
	return 0
}

// addLeadershipFlags binds those of coordinated leader election.
func (k *Kube) addLeadershipFlags(fs *pflag.FlagSet) {
	d := &k.Leadership
	fs.DurationVar(&d.LeaseDuration, "coordinated-leadership-lease-duration", d.LeaseDuration,
		"With the feature gate CoordinatedLeaderElection, how long the Leases are that candidates are given, and that of the API server that gives them.")
	fs.DurationVar(&d.RenewDeadline, "coordinated-leadership-renew-deadline", d.RenewDeadline,
		"For how long the API server that gives Leases to candidates tries to renew its own before another one does.")
	fs.DurationVar(&d.RetryPeriod, "coordinated-leadership-retry-period", d.RetryPeriod,
		"How often API servers look which of them gives Leases to candidates.")
}

// serviceCIDRs are the ranges of cluster IPs, the primary one first.
func (k *Kube) serviceCIDRs() ([]*net.IPNet, error) {
	ranges := k.ServiceClusterIPs
	if ranges == "" {
		ranges = defaultServiceCIDR
	}
	var cidrs []*net.IPNet
	for r := range strings.SplitSeq(ranges, ",") {
		ip, cidr, err := net.ParseCIDR(strings.TrimSpace(r))
		if err != nil {
			return nil, fmt.Errorf("--service-cluster-ip-range: %q is no range such as %s", r, defaultServiceCIDR)
		}
		if !ip.Equal(cidr.IP) {
			return nil, fmt.Errorf("--service-cluster-ip-range: %q has bits behind its mask; do you mean %v?", r, cidr)
		}
		if ones, bits := cidr.Mask.Size(); bits-ones < 3 {
			return nil, fmt.Errorf("--service-cluster-ip-range: %v is too small, it needs at least 8 addresses", cidr)
		}
		cidrs = append(cidrs, cidr)
	}
	if len(cidrs) > 2 || len(cidrs) == 2 && (cidrs[0].IP.To4() == nil) == (cidrs[1].IP.To4() == nil) {
		return nil, errors.New("--service-cluster-ip-range: two ranges must be one of IPv4 and one of IPv6, and there cannot be more")
	}
	return cidrs, nil
}

// complete returns a copy in which what was left open is decided.
func (o *Options) complete() (*Options, error) {
	if err := o.Validate(); err != nil {
		return nil, err
	}
	done := *o
	serving, authn, run, kube := *o.SecureServing, *o.Authentication, *o.ServerRun, *o.Kube
	done.SecureServing, done.Authentication, done.ServerRun, done.Kube = &serving, &authn, &run, &kube
	etcd := *o.Etcd
	etcd.EventTTL = kube.EventTTL
	etcd.Complete()
	done.Etcd = &etcd

	var err error
	if done.DataDir, err = filepath.Abs(o.DataDir); err != nil {
		return nil, err
	}
	if serving.CertDir != "" && serving.CertFile == "" {
		serving.CertFile, serving.KeyFile = filepath.Join(serving.CertDir, "apiserver.crt"), filepath.Join(serving.CertDir, "apiserver.key")
	}
	if serving.BindAddress == nil {
		serving.BindAddress = net.IPv4zero
		if etcd.Embedded() {
			serving.BindAddress = net.IPv4(127, 0, 0, 1)
		}
	}
	if run.AdvertiseAddress == nil {
		run.AdvertiseAddress = advertised(serving.BindAddress)
	}
	if kube.ServiceClusterIPs == "" {
		kube.ServiceClusterIPs = defaultServiceCIDR
	}
	if len(authn.ServiceAccount.Issuers) == 0 {
		authn.ServiceAccount.Issuers = []string{defaultIssuer}
	}
	return &done, nil
}

// advertised is the address that others are given: that of the host where the
// server listens on all addresses or, for its own machine, on loopback, which
// cannot be an endpoint of a Service.
func advertised(bind net.IP) net.IP {
	if !bind.IsUnspecified() && !bind.IsLoopback() {
		return bind
	}
	if ip, err := utilnet.ChooseHostInterface(); err == nil {
		return ip
	}
	return net.IPv4(127, 0, 0, 1)
}

// servingNames are the names and addresses of a generated serving certificate.
func (o *Options) servingNames() (names []string, ips []net.IP) {
	names = []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc", "kubernetes.default.svc.cluster.local"}
	if host, err := os.Hostname(); err == nil && host != "" {
		names = append(names, host)
	}
	ips = []net.IP{net.IPv4(127, 0, 0, 1), net.IPv6loopback, o.ServerRun.AdvertiseAddress}
	if h := o.ServerRun.ExternalHost; h != "" {
		if ip := net.ParseIP(h); ip != nil {
			ips = append(ips, ip)
		} else {
			names = append(names, h)
		}
	}
	if !o.SecureServing.BindAddress.IsUnspecified() {
		ips = append(ips, o.SecureServing.BindAddress)
	}
	cidrs, _ := o.Kube.serviceCIDRs()
	for _, c := range cidrs {
		ips = append(ips, kubeapi.ServiceAddress(c))
	}
	return names, ips
}
