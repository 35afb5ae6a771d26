package app

import (
	"fmt"
	"sync"

	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/util/managedfields"
	apiregistrationv1 "k8s.io/kube-aggregator/pkg/apis/apiregistration/v1"

	"triplane/aggregator"
	"triplane/apiextensions"
	"triplane/generic/discovery"
	"triplane/generic/openapi"
	"triplane/generic/openapi/models"
	"triplane/generic/options"
	"triplane/generic/server"
	"triplane/kubeapi"
)

// chain is the servers, from the innermost to the outermost.
type chain struct {
	extensions *apiextensions.Server
	aggregator *aggregator.Server
}

// parts are what the servers of a chain are made of.
type parts struct {
	options *Options
	config  *server.Config
	store   *store
	authn   *options.Authenticators
	lookups *lookups
	rbac    *rbacFeed
	node    *nodeFeed
}

// build stacks the servers: aggregator in front of core in front of extensions.
func (p *parts) build() (*chain, error) {
	scheme := kubeapi.NewScheme()
	if err := apiregistrationv1.AddToScheme(scheme); err != nil {
		return nil, err
	}
	schemas := &models.Source{}
	converter := typeConverter(schemas, scheme)
	p.config.OpenAPI = openapi.NewService(openapi.NewBuilder(schemas, scheme, server.CompatibleVersion))
	local := p.config.Discovery

	innermost := *p.config
	extensions, err := (&apiextensions.Config{Generic: &innermost, Models: schemas}).Complete().New(server.EmptyDelegate())
	if err != nil {
		return nil, fmt.Errorf("extensions: %w", err)
	}

	outer := *p.config
	outer.Discovery, outer.EnableDiscovery = discovery.NewGroups(), false
	proxyCert, err := server.NewCertificates(server.CertificateFiles{
		CertFile: p.options.Kube.ProxyClientCertFile, KeyFile: p.options.Kube.ProxyClientKeyFile,
	})
	if err != nil {
		return nil, fmt.Errorf("--proxy-client-cert-file: %w", err)
	}
	agg, err := (&aggregator.Config{
		Generic:                   &outer,
		Scheme:                    scheme,
		TypeConverter:             converter,
		Local:                     local,
		LocalComplete:             extensions.CRDsKnown(),
		ProxyClientCert:           proxyCert.Default,
		RouteToEndpoints:          p.options.Kube.AggregatorRouting,
		RejectForwardingRedirects: p.options.Kube.RejectRedirects,
	}).Complete().New(extensions.GenericAPIServer)
	if err != nil {
		return nil, fmt.Errorf("aggregator: %w", err)
	}
	p.node.server = agg.GenericAPIServer
	if err := p.rbac.install(agg.GenericAPIServer); err != nil {
		return nil, err
	}
	return &chain{extensions: extensions, aggregator: agg}, nil
}

// typeConverter is made when a managed field is first written.
func typeConverter(schemas *models.Source, scheme *runtime.Scheme) func() (managedfields.TypeConverter, error) {
	return sync.OnceValues(func() (managedfields.TypeConverter, error) {
		return openapi.NewTypeConverter(schemas, scheme), nil
	})
}
