// Servers of two releases on one etcd: storage versions, and coordinated leader election.

package replicas

import (
	"context"
	"encoding/json"
	"maps"
	"slices"
	"testing"
	"time"

	internalv1alpha1 "k8s.io/api/apiserverinternal/v1alpha1"
	coordinationv1 "k8s.io/api/coordination/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/util/wait"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/leaderelection"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"k8s.io/utils/ptr"

	"triplane.dev/e2e/harness"
)

// TestServersTogether runs two servers on one etcd, the second as one of the release
// before. Each publishes in which versions it stores, and one of them elects leaders among
// candidates: the component of the older release leads when it comes, at either server.
func TestServersTogether(t *testing.T) {
	etcd := harness.StartEtcd(t)
	args := []string{"--etcd-servers", etcd,
		"--feature-gates=CoordinatedLeaderElection=true,StorageVersionAPI=true",
		"--runtime-config=coordination.k8s.io/v1beta1=true,internal.apiserver.k8s.io/v1alpha1=true",
		"--coordinated-leadership-lease-duration=3s", "--coordinated-leadership-renew-deadline=2s",
		"--coordinated-leadership-retry-period=500ms"}
	first := kubernetes.NewForConfigOrDie(harness.Start(t, append(args, "--min-compatibility-version=1.37")...).Config)
	second := kubernetes.NewForConfigOrDie(harness.Start(t, append(args, "--emulated-version=1.35")...).Config)

	checkStorageVersions(t, first)

	run := func(client kubernetes.Interface, name, emulation string) {
		candidate, _, err := leaderelection.NewCandidate(client, "default", name, "component", "1.37.0", emulation,
			coordinationv1.OldestEmulationVersion)
		if err != nil {
			t.Fatal(err)
		}
		ctx, stop := context.WithCancel(t.Context())
		t.Cleanup(stop)
		go candidate.Run(ctx)
		go elect(ctx, client, name)
	}
	run(first, "young", "1.37.0")
	awaitHolder(t, second, "young")
	run(second, "old", "1.35.0")
	awaitHolder(t, first, "old")
}

// elect takes part for a component until the context ends.
func elect(ctx context.Context, client kubernetes.Interface, name string) {
	for ctx.Err() == nil {
		elector, err := leaderelection.NewLeaderElector(leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "default", Name: "component"},
				Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: name}},
			LeaseDuration: 3 * time.Second, RenewDeadline: 2 * time.Second, RetryPeriod: 500 * time.Millisecond,
			Coordinated: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {},
				OnStoppedLeading: func() {}},
		})
		if err != nil {
			panic(err)
		}
		elector.Run(ctx)
	}
}

func awaitHolder(t *testing.T, client kubernetes.Interface, name string) {
	t.Helper()
	var last *coordinationv1.Lease
	err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
		func(ctx context.Context) (bool, error) {
			l, err := client.CoordinationV1().Leases("default").Get(ctx, "component", metav1.GetOptions{})
			if err != nil {
				return false, nil
			}
			last = l
			return ptr.Deref(l.Spec.HolderIdentity, "") == name &&
				ptr.Deref(l.Spec.Strategy, "") == coordinationv1.OldestEmulationVersion, nil
		})
	if err != nil {
		t.Fatalf("%s does not lead: %v, %+v", name, err, last)
	}
}

// TestLeaseOfClientGo lets client-go's elector compete with servers for the Lease of the controllers: each acquires
// what another has released, and both write the same fields.
func TestLeaseOfClientGo(t *testing.T) {
	etcd := harness.StartEtcd(t)
	client := kubernetes.NewForConfigOrDie(harness.Start(t, "--etcd-servers", etcd, "--controllers=none").Config)
	replica, _ := harness.StartControlled(t, "--etcd-servers", etcd)
	ours, fields := awaitTerm(t, client, 0)
	ctx, release := context.WithCancel(t.Context())
	defer release()
	released := make(chan struct{})
	go func() {
		defer close(released)
		leaderelection.RunOrDie(ctx, leaderelection.LeaderElectionConfig{
			Lock: &resourcelock.LeaseLock{LeaseMeta: metav1.ObjectMeta{Namespace: "kube-system",
				Name: "triplane-controllers"},
				Client: client.CoordinationV1(), LockConfig: resourcelock.ResourceLockConfig{Identity: "client-go"}},
			LeaseDuration: 8 * time.Second, RenewDeadline: 5 * time.Second, RetryPeriod: 500 * time.Millisecond,
			ReleaseOnCancel: true,
			Callbacks: leaderelection.LeaderCallbacks{OnStartedLeading: func(context.Context) {},
				OnStoppedLeading: func() {}},
		})
	}()
	time.Sleep(time.Second)
	if holder, _ := awaitTerm(t, client, 0); holder != ours {
		t.Errorf("%s holds the lease of %s", holder, ours)
	}
	if err := replica.Terminate(t); err != nil {
		t.Fatal(err)
	}
	if holder, theirs := awaitTerm(t, client, 1); holder != "client-go" || !slices.Equal(theirs, fields) {
		t.Errorf("the lease of %s has %q, that of the replica has %q", holder, theirs, fields)
	}
	harness.StartControlled(t, "--etcd-servers", etcd)
	release()
	<-released
	if holder, again := awaitTerm(t, client, 2); holder == "client-go" || !slices.Equal(again, fields) {
		t.Errorf("the lease of %s has %q, that of the first replica has %q", holder, again, fields)
	}
}

// awaitTerm waits until the Lease of the controllers has had a number of transitions and has a holder. It returns the
// holder, and the names of the fields.
func awaitTerm(t *testing.T, client kubernetes.Interface, transitions int32) (holder string, fields []string) {
	t.Helper()
	err := wait.PollUntilContextTimeout(t.Context(), 50*time.Millisecond, 30*time.Second, true,
		func(ctx context.Context) (bool, error) {
			l, err := client.CoordinationV1().Leases("kube-system").Get(ctx, "triplane-controllers",
				metav1.GetOptions{})
			holder = ""
			if err != nil || ptr.Deref(l.Spec.LeaseTransitions, -1) != transitions {
				return false, nil
			}
			holder = ptr.Deref(l.Spec.HolderIdentity, "")
			content, err := json.Marshal(l.Spec)
			if err != nil {
				return false, err
			}
			all := map[string]any{}
			err = json.Unmarshal(content, &all)
			fields = slices.Sorted(maps.Keys(all))
			return holder != "" && *l.Spec.LeaseDurationSeconds == 8, err
		})
	if err != nil {
		t.Fatalf("the lease has not had %d transitions: %v", transitions, err)
	}
	return holder, fields
}

// checkStorageVersions waits until both servers have said how they store resources: in the
// same version, unless it is new.
func checkStorageVersions(t *testing.T, client kubernetes.Interface) {
	t.Helper()
	for name, common := range map[string]string{
		"apps.deployments": "apps/v1",
		"core.pods":        "v1",
		"admissionregistration.k8s.io.mutatingadmissionpolicies": "",
	} {
		var last *internalv1alpha1.StorageVersion
		err := wait.PollUntilContextTimeout(t.Context(), 100*time.Millisecond, time.Minute, true,
			func(ctx context.Context) (bool, error) {
				v, err := client.InternalV1alpha1().StorageVersions().Get(ctx, name, metav1.GetOptions{})
				if err != nil {
					return false, nil
				}
				last = v
				return len(v.Status.StorageVersions) == 2, nil
			})
		if err != nil || ptr.Deref(last.Status.CommonEncodingVersion, "") != common {
			t.Errorf("%s: %v, %+v", name, err, last)
		}
	}
}
