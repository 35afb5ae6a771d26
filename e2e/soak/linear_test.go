package soak

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"sort"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/anishathalye/porcupine"
	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	clientv1 "k8s.io/client-go/kubernetes/typed/core/v1"

	"triplane.dev/e2e/harness"
)

// TestLinearizable has clients read, write and compare-and-set objects through one replica and through
// three, each of which reaches its store through a proxy that delays, cuts and swallows. Each object's history
// has to be one that a single copy could have had.
func TestLinearizable(t *testing.T) {
	for _, replicas := range []int{1, 3} {
		t.Run(fmt.Sprintf("Replicas%d", replicas), func(t *testing.T) {
			together(t)
			r := newRecorder(t, replicas, "http://%s", strings.TrimPrefix(harness.StartEtcd(t), "http://"))
			r.linearizable(t, r.proxyFaults(), nil)
		})
	}
}

// newRecorder starts replicas that reach a store at some addresses through separate proxies. url has the addresses
// of the proxies.
func newRecorder(t *testing.T, replicas int, url string, addresses ...string) *recorder {
	r := &recorder{began: time.Now()}
	for range replicas {
		var proxies []*proxy
		var behind []string
		for _, address := range addresses {
			p, err := newProxy(t.Context(), address)
			if err != nil {
				t.Fatal(err)
			}
			t.Cleanup(func() {
				if err := p.close(); err != nil {
					t.Error(err)
				}
			})
			proxies, behind = append(proxies, p), append(behind, p.address())
		}
		s := harness.Start(t, "--etcd-servers="+fmt.Sprintf(url, strings.Join(behind, ",")),
			"--etcd-compaction-interval=2s")
		r.proxies, r.servers = append(r.proxies, proxies), append(r.servers, s)
		r.replicas = append(r.replicas, kubernetes.NewForConfigOrDie(s.Config).CoreV1().ConfigMaps("default"))
	}
	return r
}

// proxyFaults are those between the replicas and their store.
func (r *recorder) proxyFaults() []func() {
	at := func(fault func(*proxy)) func() {
		return func() {
			for _, p := range r.proxies[rand.IntN(len(r.proxies))] {
				fault(p)
			}
		}
	}
	return []func(){
		at((*proxy).cut),
		at(func(p *proxy) { p.swallow(time.Duration(rand.IntN(int(epochTime)))) }),
		at(func(p *proxy) { p.slow(time.Duration(rand.IntN(int(50 * time.Millisecond)))) }),
	}
}

// linearizable has clients use objects beside faults, and checks what they have seen. also, if any, is called when they
// have ended, and returns what else has happened.
func (r *recorder) linearizable(t *testing.T, faulty []func(), also func() string) {
	faults, began := 0, time.Now()
	epochs := rounds(t, 1, func(epoch int) { faults += r.epoch(t, epoch, faulty) })
	rate := float64(faults) / time.Since(began).Minutes()
	if rate < faultsAMinute {
		t.Errorf("%.0f faults a minute are too few to mean something", rate)
	}
	more := ""
	if also != nil {
		more = ", " + also()
	}
	operations, undecided := r.check(t)
	note(t, fmt.Sprintf("no history is impossible, with %d faults a minute at least", faultsAMinute),
		"%d operations in %d histories, %d faults (%.0f a minute)%s, %d not decided in time", operations, epochs*objects, faults,
		rate, more, undecided)
}

const (
	objects = 4
	clients = 6
	// faultsAMinute is how many there are at least.
	faultsAMinute = 10
	// epochTime is how long the objects are used: what was not answered stays possible for ever, and
	// the search through what may have happened grows with it.
	epochTime = 1500 * time.Millisecond
)

// call is an operation: a read, a write of value, or one from expected to value.
type call struct{ kind, object, expected, value string }

// outcome is what it has brought: the value of a read, and whether a compare-and-set was done.
type outcome struct {
	value         string
	done, unknown bool
}

// recorder notes what clients do.
type recorder struct {
	replicas []clientv1.ConfigMapInterface
	servers  []*harness.Server
	proxies  [][]*proxy // of each server, one for each address of the store
	began    time.Time

	mu         sync.Mutex
	operations []porcupine.Operation
}

// epoch makes objects and has clients use them while there are faults, whose number it returns.
func (r *recorder) epoch(t *testing.T, epoch int, faulty []func()) (faults int) {
	var names []string
	for i := range objects {
		name := fmt.Sprintf("e%d-%d", epoch, i)
		if err := r.create(t.Context(), name); err != nil {
			t.Fatal(err)
		}
		names = append(names, name)
	}
	ctx, cancel := context.WithTimeout(t.Context(), epochTime)
	defer cancel()
	var all sync.WaitGroup
	for client := range clients {
		all.Go(func() { r.use(ctx, client, names) })
	}
	for ; ctx.Err() == nil; faults++ {
		faulty[rand.IntN(len(faulty))]()
		select {
		case <-ctx.Done():
		case <-time.After(time.Duration(rand.IntN(int(epochTime / 3)))):
		}
		for _, p := range slices.Concat(r.proxies...) {
			p.slow(0)
		}
	}
	all.Wait()
	return faults
}

// create makes an object that holds nothing, however often it takes.
func (r *recorder) create(ctx context.Context, name string) error {
	for {
		call, cancel := context.WithTimeout(ctx, 5*time.Second)
		_, err := r.replicas[0].Create(call, &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}},
			metav1.CreateOptions{})
		cancel()
		if err == nil || apierrors.IsAlreadyExists(err) {
			return nil
		}
		select {
		case <-ctx.Done():
			return errors.Join(err, ctx.Err())
		case <-time.After(50 * time.Millisecond):
		}
	}
}

// use does random things until ctx ends.
func (r *recorder) use(ctx context.Context, client int, names []string) {
	for i := 0; ctx.Err() == nil; i++ {
		maps := r.replicas[rand.IntN(len(r.replicas))]
		name, value := names[rand.IntN(len(names))], fmt.Sprintf("%d-%d", client, i)
		call, cancel := context.WithTimeout(context.WithoutCancel(ctx), 2*time.Second)
		switch rand.IntN(5) {
		case 0:
			r.write(call, maps, client, name, value)
		case 1, 2:
			r.compareAndSet(call, maps, client, name, value)
		default:
			r.read(call, maps, client, name, rand.IntN(2) == 0)
		}
		cancel()
	}
}

// write replaces whatever is there.
func (r *recorder) write(ctx context.Context, maps clientv1.ConfigMapInterface, client int, name, value string) {
	began := time.Since(r.began)
	c := &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Name: name}, Data: map[string]string{"v": value}}
	_, err := maps.Update(ctx, c, metav1.UpdateOptions{})
	if apierrors.IsConflict(err) {
		return // it was tried again too often, and not done
	}
	r.note(client, call{"write", name, "", value}, outcome{done: true, unknown: err != nil}, began)
}

// compareAndSet reads, and writes what must not have changed since.
func (r *recorder) compareAndSet(ctx context.Context, maps clientv1.ConfigMapInterface, client int, name,
	value string) {
	c := r.read(ctx, maps, client, name, false)
	if c == nil {
		return
	}
	began, expected := time.Since(r.began), c.Data["v"]
	c.Data = map[string]string{"v": value}
	_, err := maps.Update(ctx, c, metav1.UpdateOptions{})
	r.note(client, call{"set", name, expected, value},
		outcome{done: err == nil, unknown: err != nil && !apierrors.IsConflict(err)}, began)
}

// read gets an object, or finds it in a list; nil where that fails.
func (r *recorder) read(ctx context.Context, maps clientv1.ConfigMapInterface, client int, name string,
	list bool) *corev1.ConfigMap {
	began := time.Since(r.began)
	var c *corev1.ConfigMap
	if list {
		all, err := maps.List(ctx, metav1.ListOptions{})
		if err != nil {
			return nil
		}
		for i := range all.Items {
			if all.Items[i].Name == name {
				c = &all.Items[i]
			}
		}
	} else {
		var err error
		if c, err = maps.Get(ctx, name, metav1.GetOptions{}); err != nil {
			c = nil
		}
	}
	if c != nil {
		r.note(client, call{kind: "read", object: name}, outcome{value: c.Data["v"]}, began)
	}
	return c
}

// forever is when an operation returns that was not answered: it may happen at any time, or never.
const forever = int64(1 << 62)

func (r *recorder) note(client int, c call, o outcome, began time.Duration) {
	ended := int64(time.Since(r.began))
	if o.unknown {
		ended = forever
	}
	r.mu.Lock()
	defer r.mu.Unlock()
	if o.unknown {
		client = clients + len(r.operations) // the client goes on, as another one
	}
	r.operations = append(r.operations, porcupine.Operation{ClientId: client, Input: c, Call: int64(began), Output: o,
		Return: ended})
}

// register is an object that holds a value.
var register = porcupine.Model{
	Partition: func(history []porcupine.Operation) [][]porcupine.Operation {
		byObject := map[string][]porcupine.Operation{}
		for _, o := range history {
			name := o.Input.(call).object
			byObject[name] = append(byObject[name], o)
		}
		var parts [][]porcupine.Operation
		for _, part := range byObject {
			parts = append(parts, part)
		}
		return parts
	},
	Init: func() any { return "" },
	Step: func(state, input, output any) (bool, any) {
		c, o := input.(call), output.(outcome)
		switch {
		case c.kind == "read":
			return o.value == state, state
		case c.kind == "write":
			return true, c.value
		case o.unknown && state != c.expected:
			return true, state
		case o.unknown || o.done:
			return state == c.expected, c.value
		}
		return state != c.expected, state
	},
	DescribeOperation: func(input, output any) string { return fmt.Sprint(input, output) },
}

// check fails the test where a history is impossible, and returns how many operations there were and
// whether the search was given up.
func (r *recorder) check(t *testing.T) (operations, undecided int) {
	for _, history := range register.Partition(r.operations) {
		switch porcupine.CheckOperationsTimeout(register, history, time.Minute) {
		case porcupine.Illegal:
			t.Errorf("a history is impossible from its last line on:\n%s", shortest(history))
		case porcupine.Unknown:
			undecided++
		}
	}
	return len(r.operations), undecided
}

// shortest is the shortest beginning of an impossible history that is impossible, one operation a line.
func shortest(history []porcupine.Operation) string {
	slices.SortFunc(history, func(a, b porcupine.Operation) int { return cmp.Compare(a.Return, b.Return) })
	n := sort.Search(len(history), func(n int) bool {
		return !porcupine.CheckOperations(register, begun(history, n))
	})
	var b strings.Builder
	lines := begun(history, n)
	for _, o := range lines[max(0, len(lines)-60):] {
		fmt.Fprintf(&b, "%9.3f–%.3f ms  client %d  %+v %+v\n", float64(o.Call)/1e6, float64(min(o.Return, 1e13))/1e6,
			o.ClientId, o.Input, o.Output)
	}
	return b.String()
}

// begun is a history up to its nth return: what had begun then may have happened.
func begun(history []porcupine.Operation, n int) []porcupine.Operation {
	if n >= len(history) {
		return history
	}
	var part []porcupine.Operation
	for i, o := range history {
		if i > n && (o.Call > history[n].Return || o.Input.(call).kind == "read") {
			continue
		}
		if i > n {
			o.ClientId, o.Return, o.Output = clients+len(history)+i, forever, outcome{done: true, unknown: true}
		}
		part = append(part, o)
	}
	slices.SortStableFunc(part, func(a, b porcupine.Operation) int {
		return cmp.Compare(a.Return%forever, b.Return%forever)
	})
	return part
}

// TestImpossibleHistoriesAreFound looks whether the check finds a stale read, and a lost write.
func TestImpossibleHistoriesAreFound(t *testing.T) {
	written := porcupine.Operation{ClientId: 1, Input: call{"write", "a", "", "1"}, Call: 0,
		Output: outcome{done: true}, Return: 10}
	for value, want := range map[string]bool{"1": true, "": false, "2": false} {
		read := porcupine.Operation{ClientId: 2, Input: call{kind: "read", object: "a"}, Call: 20,
			Output: outcome{value: value}, Return: 30}
		if got := porcupine.CheckOperations(register, []porcupine.Operation{written, read}); got != want {
			t.Errorf("a read of %q: possible %v", value, got)
		}
	}
}
