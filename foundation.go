package triplane

import (
	"cmp"
	"context"
	"net"
	"strconv"
	"sync"

	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	"k8s.io/apimachinery/pkg/runtime"
	library "k8s.io/apimachinery/pkg/util/managedfields"
	"k8s.io/apimachinery/pkg/version"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane.dev/aggregator"
	"triplane.dev/apiextensions"
	"triplane.dev/generic/api/managedfields"
	"triplane.dev/generic/api/openapi"
	"triplane.dev/generic/api/openapi/models"
	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/base/metrics"
	"triplane.dev/generic/base/tracing"
	"triplane.dev/generic/guard/admission/configuration"
	"triplane.dev/generic/run/host"
	"triplane.dev/generic/run/pki"
	"triplane.dev/generic/serve/requestmetrics"
	"triplane.dev/generic/serve/server"
	"triplane.dev/generic/storage/cache"
	"triplane.dev/generic/storage/etcd"
	"triplane.dev/kubeapi"
	"triplane.dev/kubeapi/bootstrap"
	"triplane.dev/kubeapi/fieldgates"
	"triplane.dev/kubeapi/group"
	"triplane.dev/kubeapi/kubelet"
	"triplane.dev/kubeapi/manifests"
	"triplane.dev/workspaces"
)

// opened is what a start opens before it creates servers.
type opened struct {
	listener net.Listener
	store    *host.Store
	files    pki.Files         // generated keys and certificates
	egress   *egress.Selector  // nil connects directly
	traces   *tracing.Provider // nil disables tracing
}

// foundation is what guards and servers are created from. It does not change after newFoundation, except for manifests.
type foundation struct {
	opened
	options *Options
	// config is the servers' configuration without guards: storage, the listener, metrics and the loopback client.
	config *server.Config
	kinds  kinds
	// stores cuts the one circle of dependencies: authenticators and admission plugins read stored objects, and the
	// verbs of kinds (TokenReviews, RBAC's escalation check) use authenticators and authorizers. A handle of stores
	// finds the storage of its resource during requests, and core adds it while it is created.
	stores *group.Stores
	// advertisedPort is the port that is published to members of the cluster.
	advertisedPort int
	// peer is this server's address for other servers of the same storage; nil if there is none.
	peer *net.TCPAddr
	// serverID is the name of this replica's lease.
	serverID string
	// checkpoints are those of the default storage.
	checkpoints *checkpoints
	// manifests applies --manifests; nil without it, and before addManifests.
	manifests *manifests.Applier
	// process has what the chains of all workspaces share with the root chain.
	process *process
	// nested is what distinguishes the chain of a workspace; nil for the root chain.
	nested *workspaces.Inputs
	// multiplexers are those of the chain's keys, the default one first.
	multiplexers []*cache.Multiplexer
}

// process is what the chains of a process share.
type process struct {
	// anonymous connects to the kubelets of workspaces, without a certificate: their nodes may have any address.
	kubelets, anonymous *kubelet.Client
	// rootCA returns the CA that controllers publish.
	rootCA func() ([]byte, error)
	// admission is the configuration of admission plugins in workspaces, which the root chain reads.
	admission *configuration.Plugins
	// defaults returns the default objects that all workspaces share; nil if workspaces are disabled.
	defaults func() (*workspaces.Defaults, error)
	// workspaces runs the chains of workspaces; nil if they are disabled.
	workspaces *workspaces.Manager
}

func newFoundation(o *Options, in opened) (*foundation, error) {
	known, err := newKinds(o)
	if err != nil {
		return nil, err
	}
	config, err := newConfig(o, in, known)
	if err != nil {
		return nil, err
	}
	port := cmp.Or(o.ServerRun.AdvertisePort, config.Serving.Port())
	shared, err := newProcess(o, in)
	if err != nil {
		return nil, err
	}
	peer, stores := o.advertisedToPeers(port), group.NewStores()
	return &foundation{opened: in, options: o, config: config, kinds: known, stores: stores, advertisedPort: port,
		peer: peer, serverID: bootstrap.NewIdentity(stores, peer).Name(), process: shared,
		multiplexers: in.store.Multiplexers(),
		checkpoints:  newCheckpoints(checkpointer{store: in.store, prefix: o.Etcd.AbsolutePrefix()})}, nil
}

func newProcess(o *Options, in opened) (*process, error) {
	reach := o.Kube.Kubelet
	if o.Egress.ConfigFile != "" {
		reach.Dial = in.egress.DialCluster
	}
	kubelets, err := kubelet.New(reach)
	if err != nil {
		return nil, err
	}
	reach.CertFile, reach.KeyFile = "", ""
	anonymous, err := kubelet.New(reach)
	if err != nil {
		return nil, err
	}
	return &process{kubelets: kubelets, anonymous: anonymous, rootCA: newRootCA(o, in.files),
		workspaces: newWorkspaceManager(o, in)}, nil
}

// newConfig returns the servers' configuration by options and storage.
func newConfig(o *Options, in opened, known kinds) (*server.Config, error) {
	c := server.NewConfig()
	if o.Compatibility.Enabled("NativeHistograms") {
		c.Metrics = requestmetrics.In(metrics.NewNative())
	}
	c.Tracing = in.traces
	o.ServerRun.ApplyTo(c)
	if err := o.Features.ApplyTo(c); err != nil {
		return nil, err
	}
	o.Compatibility.ApplyTo(c)
	o.Ignored.Note()
	if o.Compatibility.Enabled("ComponentFlagz") {
		c.Flags = o.internal.line.Values()
	}
	var err error
	if c.Serving, err = o.SecureServing.Serving(in.listener, in.files.Serving()); err != nil {
		return nil, err
	}
	c.ExternalAddress = net.JoinHostPort(o.externalHost(), strconv.Itoa(host.Port(in.listener)))
	stored, err := in.store.InstallIn(c, o.Etcd)
	if err != nil {
		return nil, err
	}
	if err := c.Metrics.RegisterGates(o.Compatibility.Stages(), o.Compatibility.Enabled); err != nil {
		return nil, err
	}
	c.FlowControl = o.ServerRun.FlowControl(stored)
	c.Metrics.MustRegister(in.egress.Collectors()...)
	c.OpenAPI = openapi.NewService(known.builder(c.Version))
	return c, nil
}

// kinds are the Go types and schemas of the built-in kinds.
type kinds struct {
	scheme    *runtime.Scheme
	schemas   *models.Source
	converter func() (library.TypeConverter, error) // created when a managed field is first written
	// registration is the scheme of APIServices.
	registration *runtime.Scheme
	definitions  *apiextensions.Types
	// fields are those of features that are off.
	fields *fieldgates.Set
}

// builder returns the builder of OpenAPI documents. Each service needs one.
func (k *kinds) builder(v *version.Info) *openapi.Builder {
	return openapi.NewBuilder(k.schemas, k.scheme, v.EmulationMajor+"."+v.EmulationMinor)
}

func newKinds(o *Options) (kinds, error) {
	enabled := o.Compatibility.Enabled
	k := kinds{scheme: kubeapi.NewScheme(), schemas: &models.Source{NoEnums: !enabled("OpenAPIEnums")},
		fields: fieldgates.New(enabled)}
	add := []func(*runtime.Scheme) error{apiregistrationv1.AddToScheme, apiextensionsv1.AddToScheme}
	if o.Workspaces.Enabled {
		add = append(add, workspaces.AddToScheme)
		if err := k.schemas.Describe(workspaces.Workspace{}, workspaces.List{}); err != nil {
			return kinds{}, err
		}
	}
	for _, add := range add {
		if err := add(k.scheme); err != nil {
			return kinds{}, err
		}
	}
	var err error
	if k.registration, err = aggregator.NewScheme(); err != nil {
		return kinds{}, err
	}
	if k.definitions, err = apiextensions.NewTypes(k.schemas); err != nil {
		return kinds{}, err
	}
	k.converter = sync.OnceValues(func() (library.TypeConverter, error) {
		return managedfields.NewPlanned(openapi.NewTypeConverter(k.schemas, k.scheme)), nil
	})
	return k, nil
}

// lookups returns what authenticators read.
func (f *foundation) lookups() kubeapi.Lookups {
	return kubeapi.NewLookups(f.stores, f.config.LoopbackClientConfig)
}

func (f *foundation) storageHealth(ctx context.Context) error {
	o := f.options.Etcd
	return etcd.Check(ctx, f.store.Backend(), o.AbsolutePrefix(), o.HealthCheckTimeout)
}
