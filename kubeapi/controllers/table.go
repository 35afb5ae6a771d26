package controllers

import (
	"triplane.dev/internal/worker"
	"triplane.dev/kubeapi/controllers/certificates"
	"triplane.dev/kubeapi/controllers/control"
	"triplane.dev/kubeapi/controllers/disruption"
	"triplane.dev/kubeapi/controllers/endpointslice"
	"triplane.dev/kubeapi/controllers/garbage"
	"triplane.dev/kubeapi/controllers/legacytoken"
	"triplane.dev/kubeapi/controllers/namespace"
	"triplane.dev/kubeapi/controllers/podgc"
	"triplane.dev/kubeapi/controllers/protection"
	"triplane.dev/kubeapi/controllers/quota"
	"triplane.dev/kubeapi/controllers/roleaggregation"
	"triplane.dev/kubeapi/controllers/rootca"
	"triplane.dev/kubeapi/controllers/serviceaccount"
	"triplane.dev/kubeapi/controllers/servicecidr"
	"triplane.dev/kubeapi/controllers/simulate"
	"triplane.dev/kubeapi/controllers/storagemigration"
	"triplane.dev/kubeapi/controllers/token"
	"triplane.dev/kubeapi/controllers/ttl"
)

// controller is a row of the table. make registers handlers in the environment's feed, and returns the work of the
// controller; nil if the options disable it.
type controller struct {
	name string
	make func(e *control.Env, o *Options) (worker.Runner, error)
}

// table returns all controllers, by name. Those of workloads run only with Options.SimulateWorkloads.
func table() []controller {
	return []controller{
		{"certificatesigningrequest-approving-controller", plain(certificates.NewApprover)},
		{"certificatesigningrequest-cleaner-controller", plain(certificates.NewCleaner)},
		{"certificatesigningrequest-signing-controller", func(e *control.Env, o *Options) (worker.Runner, error) {
			if o.SigningAuthority == nil {
				return nil, nil
			}
			return certificates.NewSigner(e, o.SigningAuthority)
		}},
		{"clusterrole-aggregation-controller", plain(roleaggregation.New)},
		{"deployment-controller", simulated(simulate.NewDeployments)},
		{"disruption-controller", plain(disruption.New)},
		{"endpointslice-controller", plain(endpointslice.NewServices)},
		{"endpointslice-mirroring-controller", plain(endpointslice.NewMirroring)},
		{"garbage-collector-controller", plain(garbage.New)},
		{"job-controller", simulated(simulate.NewJobs)},
		{"legacy-serviceaccount-token-cleaner-controller", func(e *control.Env, o *Options) (worker.Runner, error) {
			return legacytoken.New(e, o.LegacyTokenCleanUpPeriod)
		}},
		{"namespace-controller", func(e *control.Env, o *Options) (worker.Runner, error) {
			return namespace.New(e, o.NamespaceGracePeriod)
		}},
		{"persistentvolume-protection-controller", plain(protection.NewVolumes)},
		{"persistentvolumeclaim-protection-controller", plain(protection.NewClaims)},
		{"pod-garbage-collector-controller", func(e *control.Env, o *Options) (worker.Runner, error) {
			return podgc.New(e, o.TerminatedPods)
		}},
		{"replicaset-controller", simulated(simulate.NewReplicaSets)},
		{"resourcequota-controller", plain(quota.New)},
		{rootCAs, func(e *control.Env, o *Options) (worker.Runner, error) {
			if len(o.RootCA) == 0 {
				return nil, nil
			}
			return rootca.New(e, o.RootCA)
		}},
		{serviceCIDRs, plain(servicecidr.New)},
		{accounts, plain(serviceaccount.New)},
		{"serviceaccount-token-controller", func(e *control.Env, o *Options) (worker.Runner, error) {
			if o.TokenIssuer == nil {
				return nil, nil
			}
			return token.New(e, token.Config{Issuer: o.TokenIssuer, RootCA: o.RootCA})
		}},
		{"statefulset-controller", simulated(simulate.NewStatefulSets)},
		{"storage-version-migrator-controller", plain(storagemigration.New)},
		{"ttl-after-finished-controller", plain(ttl.New)},
		{"workload-simulator-controller", simulated(simulate.NewPods)},
	}
}

// simulated adapts the constructor of a controller of workloads.
func simulated(make func(*control.Env) (worker.Runner, error)) func(*control.Env, *Options) (worker.Runner, error) {
	return func(e *control.Env, o *Options) (worker.Runner, error) {
		if !o.SimulateWorkloads {
			return nil, nil
		}
		return make(e)
	}
}

// plain adapts the constructor of a controller without options.
func plain(make func(*control.Env) (worker.Runner, error)) func(*control.Env, *Options) (worker.Runner, error) {
	return func(e *control.Env, _ *Options) (worker.Runner, error) { return make(e) }
}
