package triplane

import (
	"errors"
	"fmt"
	"io"
	"net"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	utilnet "k8s.io/apimachinery/pkg/util/net"
	cliflag "k8s.io/component-base/cli/flag"

	genericadmission "triplane.dev/generic/guard/admission"
	"triplane.dev/generic/run/authoptions"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/options"
	"triplane.dev/generic/run/storageoptions"
	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/admission"
	"triplane.dev/kubeapi/controllers/leadership"
	"triplane.dev/kubeapi/kubelet"
	"triplane.dev/workspaces"
)

// Options are all options of the server. Create them with NewOptions.
type Options struct {
	// DataDir is the directory of the embedded etcd and of generated keys.
	DataDir string
	// Out receives the output of the start; nil discards it.
	Out io.Writer

	ServerRun      *options.ServerRun
	SecureServing  *options.SecureServing
	Etcd           *storageoptions.Etcd
	Authentication *authoptions.Authentication
	Authorization  *authoptions.Authorization
	Admission      *options.Admission
	Audit          *options.Audit
	Features       *options.Features
	Compatibility  *options.Compatibility
	Egress         *options.Egress
	Tracing        *options.Tracing
	Kube           *Kube
	Controllers    *Controllers
	Console        *Console
	Workspaces     *workspaces.Options
	Join           *Join
	Ignored        *options.Ignored
	Testing        *Testing
	// Manifests is a directory whose YAML and JSON files are applied to the server; "" disables that.
	Manifests string
	// KeepKubeconfig does not write the data directory's KubeconfigFile.
	KeepKubeconfig bool

	internal internalOptions
}

// internalOptions are options without a field of Options.
type internalOptions struct {
	plugins []genericadmission.Plugin
	line    *host.Line // the command line; nil without one
	// repairEvery is the interval at which objects of the server are recreated; 0 means the default.
	repairEvery time.Duration
}

// Testing are the options of servers for tests. They have no flags; the command "triplane test" sets them.
type Testing struct {
	// Checkpoints serves checkpoints of the storage at CheckpointsPath.
	Checkpoints bool
}

// Kube are the options of built-in kinds and of the aggregator.
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
	// EndpointReconciler is "lease", "master-count" or "none": how this replica maintains its address in the
	// endpoints of the Service kubernetes.
	EndpointReconciler string
	// APIServerCount is the number of replicas for master-count.
	APIServerCount int
	// ServiceNodePort makes the Service kubernetes a NodePort Service; 0 does not.
	ServiceNodePort int
	Tolerations     admission.TolerationOptions
	// Leadership are the durations of the Leases of coordinated leader election.
	Leadership leadership.Durations
	// Kubelet configures connections to kubelets.
	Kubelet kubelet.Config
}

// KubeconfigFile is the name of the administrator's kubeconfig in the data directory.
const KubeconfigFile = "admin.kubeconfig"

// Values of Kube.EndpointReconciler.
const (
	ReconcilerLease = "lease"
	ReconcilerNone  = "none"
	// ReconcilerMasterCount is deprecated: it relies on the number of replicas instead of leases.
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
		Etcd:           storageoptions.NewEtcd(),
		Authentication: authoptions.NewAuthentication(),
		Authorization:  authoptions.NewAuthorization(),
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
		Workspaces:  workspaces.NewOptions(),
		Join:        &Join{},
		Ignored:     &options.Ignored{},
		Testing:     &Testing{},
	}
}

// AddAdmissionPlugins adds admission plugins of the embedding program. They run in this order, before the policies
// and webhooks of the API. It must be called before Flags.
func (o *Options) AddAdmissionPlugins(plugins ...genericadmission.Plugin) {
	o.internal.plugins = append(o.internal.plugins, plugins...)
	o.Admission.Known, o.Admission.Default = admissionPlugins(o.internal.plugins)
}

// admissionPlugins returns the names of all plugins, and of those that are enabled by default.
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
		"Directory of the embedded etcd, of generated keys and certificates, and of admin.kubeconfig. Later "+
			"starts use its data.")
	fs.StringVar(&o.Manifests, "manifests", o.Manifests,
		"Directory whose YAML and JSON files, with those of its subdirectories, are applied to this server by "+
			"server-side apply, at the start and when they change. Objects that are removed from the files are deleted. "+
			"If blank, nothing is applied.")
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
	o.Kube.Kubelet.AddFlags(sets.FlagSet("kubelet"))
	o.Workspaces.AddFlags(sets.FlagSet("workspaces"))
	o.Controllers.addFlags(sets.FlagSet("controllers"))
	o.Ignored.AddFlags(sets.FlagSet("ignored"))
	return sets
}

func (k *Kube) addFlags(fs *pflag.FlagSet) {
	fs.BoolVar(&k.AllowPrivileged, "allow-privileged", k.AllowPrivileged, "Allow privileged containers.")
	k.addLeadershipFlags(fs)
	fs.StringVar(&k.ServiceClusterIPs, "service-cluster-ip-range", k.ServiceClusterIPs,
		"The range of cluster IPs of Services, or two ranges of different IP families, comma separated. If "+
			"blank, "+defaultServiceCIDR+".")
	fs.Var(&k.ServiceNodePorts, "service-node-port-range", "The range of node ports of Services.")
	fs.IntVar(&k.ServiceNodePort, "kubernetes-service-node-port", k.ServiceNodePort,
		"The node port of the Service kubernetes. 0 means none.")
	fs.StringVar(&k.EndpointReconciler, "endpoint-reconciler-type", k.EndpointReconciler,
		"How the endpoints of the Service kubernetes are maintained: lease, none, or master-count, which is "+
			"deprecated and uses --apiserver-count instead of leases.")
	fs.IntVar(&k.APIServerCount, "apiserver-count", k.APIServerCount,
		"The number of API servers, with --endpoint-reconciler-type=master-count.")
	_ = fs.MarkDeprecated("apiserver-count", "apiserver-count is deprecated and will be removed in a future version.")
	fs.Var(&k.RuntimeConfig, "runtime-config",
		"API versions to enable or disable: group/version=true|false, v1 for the core group, "+
			"group/version/resource or v1/resource, or api/all, api/ga, api/beta and api/alpha, comma separated. "+
			"Versions and resources that an enabled component reads cannot be disabled.")
	fs.Int64Var(&k.Tolerations.NotReadySeconds, "default-not-ready-toleration-seconds", k.Tolerations.NotReadySeconds,
		"How many seconds pods tolerate a node that is not ready, unless their tolerations specify it.")
	fs.Int64Var(&k.Tolerations.UnreachableSeconds, "default-unreachable-toleration-seconds",
		k.Tolerations.UnreachableSeconds,
		"How many seconds pods tolerate an unreachable node, unless their tolerations specify it.")
	fs.DurationVar(&k.EventTTL, "event-ttl", k.EventTTL, "The TTL of events. 0 means that they do not expire.")
	fs.StringVar(&k.ProxyClientCertFile, "proxy-client-cert-file", k.ProxyClientCertFile,
		"The client certificate for external API servers, signed by --requestheader-client-ca-file. If blank, a "+
			"generated one.")
	fs.StringVar(&k.ProxyClientKeyFile, "proxy-client-key-file", k.ProxyClientKeyFile,
		"The key of --proxy-client-cert-file.")
	fs.BoolVar(&k.AggregatorRouting, "enable-aggregator-routing", k.AggregatorRouting,
		"Connect to the endpoints of an external API server's Service instead of its cluster IP.")
	fs.BoolVar(&k.RejectRedirects, "aggregator-reject-forwarding-redirect", k.RejectRedirects,
		"Reject redirects of external API servers instead of returning them to clients.")
	k.Peers.addFlags(fs)
}

// Validate returns all invalid values as one error; nil if there are none.
func (o *Options) Validate() error {
	var errs []error
	for _, v := range []interface{ Validate() []error }{
		o.ServerRun, o.SecureServing, o.Etcd, o.Authentication, o.Authorization, o.Admission, o.Audit, o.Kube,
		o.Controllers, o.Features, o.Compatibility,
	} {
		errs = append(errs, v.Validate()...)
	}
	errs = append(errs, slices.Concat(o.Workspaces.Validate(o.Etcd), o.servedTooEarly(), o.validateJoin(),
		o.validateManifests())...)
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

// Validate returns an error for each invalid value.
func (k *Kube) Validate() []error {
	var errs []error
	if _, err := k.serviceCIDRs(); err != nil {
		errs = append(errs, err)
	}
	if (k.ProxyClientCertFile == "") != (k.ProxyClientKeyFile == "") {
		errs = append(errs, errors.New("--proxy-client-cert-file and --proxy-client-key-file must be given together"))
	}
	if k.ServiceNodePorts.Base < 0 || k.ServiceNodePorts.Base+k.ServiceNodePorts.Size > 65536 {
		errs = append(errs, fmt.Errorf("--service-node-port-range %v is not a range of ports", k.ServiceNodePorts))
	}
	if !slices.Contains([]string{ReconcilerLease, ReconcilerMasterCount, ReconcilerNone}, k.EndpointReconciler) {
		errs = append(errs, fmt.Errorf("--endpoint-reconciler-type must be %s, %s or %s, not %q", ReconcilerLease,
			ReconcilerMasterCount, ReconcilerNone, k.EndpointReconciler))
	}
	if k.APIServerCount < 1 {
		errs = append(errs, fmt.Errorf("--apiserver-count %d must be a positive number", k.APIServerCount))
	}
	if k.Peers.CAFile != "" && k.ProxyClientCertFile == "" {
		errs = append(errs,
			errors.New("--peer-ca-file needs --proxy-client-cert-file and --proxy-client-key-file, by which other "+
				"servers authenticate this one"))
	}
	if k.ServiceNodePort < 0 || k.ServiceNodePort > 0 && !k.ServiceNodePorts.Contains(k.ServiceNodePort) {
		errs = append(errs, fmt.Errorf("--kubernetes-service-node-port %d is not in the range %v", k.ServiceNodePort,
			k.ServiceNodePorts))
	}
	errs = append(errs, k.Kubelet.Validate()...)
	errs = append(errs, k.Peers.Validate()...)
	errs = append(errs, k.Leadership.Validate()...)
	errs = append(errs, k.RuntimeConfig.Validate(kubeapi.KnowsGroup, kubeapi.KnowsVersion)...)
	if k.EventTTL < 0 {
		errs = append(errs, errors.New("--event-ttl cannot be negative"))
	}
	return errs
}

// replicas returns the number of servers for master-count; 0 with leases.
func (k *Kube) replicas() int {
	if k.EndpointReconciler == ReconcilerMasterCount {
		return k.APIServerCount
	}
	return 0
}

// addLeadershipFlags binds the flags of coordinated leader election.
func (k *Kube) addLeadershipFlags(fs *pflag.FlagSet) {
	d := &k.Leadership
	fs.DurationVar(&d.LeaseDuration, "coordinated-leadership-lease-duration", d.LeaseDuration,
		"The duration of the Leases of coordinated leader election (the feature gate CoordinatedLeaderElection), "+
			"and of the Lease of the API server that coordinates it.")
	fs.DurationVar(&d.RenewDeadline, "coordinated-leadership-renew-deadline", d.RenewDeadline,
		"How long the coordinating API server retries to renew its Lease before another one takes over.")
	fs.DurationVar(&d.RetryPeriod, "coordinated-leadership-retry-period", d.RetryPeriod,
		"How often API servers try to become the coordinating one.")
}

// serviceCIDRs returns the ranges of cluster IPs, the primary one first.
func (k *Kube) serviceCIDRs() ([]*net.IPNet, error) {
	ranges := k.ServiceClusterIPs
	if ranges == "" {
		ranges = defaultServiceCIDR
	}
	var cidrs []*net.IPNet
	for r := range strings.SplitSeq(ranges, ",") {
		ip, cidr, err := net.ParseCIDR(strings.TrimSpace(r))
		if err != nil {
			return nil, fmt.Errorf("--service-cluster-ip-range: %q is not a range such as %s", r, defaultServiceCIDR)
		}
		if !ip.Equal(cidr.IP) {
			return nil, fmt.Errorf("--service-cluster-ip-range: %q has bits outside its mask; use %v", r, cidr)
		}
		if ones, bits := cidr.Mask.Size(); bits-ones < 3 {
			return nil, fmt.Errorf("--service-cluster-ip-range: %v is too small, it needs at least 8 addresses", cidr)
		}
		cidrs = append(cidrs, cidr)
	}
	if len(cidrs) > 2 || len(cidrs) == 2 && (cidrs[0].IP.To4() == nil) == (cidrs[1].IP.To4() == nil) {
		return nil,
			errors.New("--service-cluster-ip-range: two ranges must be one of IPv4 and one of IPv6, and there " +
				"cannot be more")
	}
	return cidrs, nil
}

// complete returns a copy with defaults for unset values.
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
	if o.Manifests != "" {
		if done.Manifests, err = filepath.Abs(o.Manifests); err != nil {
			return nil, err
		}
	}
	if serving.CertDir != "" && serving.CertFile == "" {
		serving.CertFile, serving.KeyFile = filepath.Join(serving.CertDir, "apiserver.crt"),
			filepath.Join(serving.CertDir, "apiserver.key")
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

// advertised returns the published address. If the server listens on all addresses or on loopback, which cannot be
// an endpoint of a Service, it is the host's address.
func advertised(bind net.IP) net.IP {
	if !bind.IsUnspecified() && !bind.IsLoopback() {
		return bind
	}
	if ip, err := utilnet.ChooseHostInterface(); err == nil {
		return ip
	}
	return net.IPv4(127, 0, 0, 1)
}

// servingNames returns the names and addresses of a generated serving certificate.
func (o *Options) servingNames() (names []string, ips []net.IP) {
	names, ips = host.ServingNames(o.SecureServing, o.ServerRun)
	names = append(names, "kubernetes", "kubernetes.default", "kubernetes.default.svc",
		"kubernetes.default.svc.cluster.local")
	cidrs, _ := o.Kube.serviceCIDRs()
	for _, c := range cidrs {
		ips = append(ips, kubeapi.ServiceAddress(c))
	}
	return names, ips
}
