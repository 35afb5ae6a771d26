package flowcontrol

import (
	"context"
	"hash/maphash"
	"maps"
	"slices"
	"sync"
	"sync/atomic"
	"time"

	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/utils/clock"
)

// Config is what a Controller is made of.
type Config struct {
	// Reads and Writes are --max-requests-inflight and
	// --max-mutating-requests-inflight; their sum is the server's seats.
	Reads, Writes int
	// Schemas and Levels are in force until Update is called. The mandatory ones
	// among them (named exempt and catch-all) are in force whenever Update leaves
	// them out; they must be there.
	Schemas []*flowv1.FlowSchema
	Levels  []*flowv1.PriorityLevelConfiguration
	// Objects is for estimates; nil takes every request for one seat.
	Objects Objects
	// Clock is nil for the real one.
	Clock clock.WithTickerAndDelayedExecution
}

// Names of the mandatory objects.
const (
	mandatoryExempt   = flowv1.FlowSchemaNameExempt
	mandatoryCatchAll = flowv1.FlowSchemaNameCatchAll
)

const (
	// sampleEvery is how often reads and writes are compared.
	sampleEvery = time.Second
	// adjustEvery is how often seats are lent and borrowed.
	adjustEvery = 10 * time.Second
)

// Controller holds the priority levels of a server.
type Controller struct {
	config Config
	clock  clock.WithTickerAndDelayedExecution
	seed   maphash.Seed
	// schemas are those in force, in the order in which they are tried.
	schemas atomic.Pointer[[]*schema]

	mu     sync.Mutex // of what follows; a level's is taken below it
	levels map[string]*level
	fair   float64
	mixed  [4]timing // reads and writes that execute, then those that wait
}

// New returns a controller that is ready to classify.
func New(c Config) *Controller {
	f := &Controller{config: c, clock: c.Clock, seed: maphash.MakeSeed(), levels: map[string]*level{}}
	if f.clock == nil {
		f.clock = clock.RealClock{}
	}
	for i := range f.mixed {
		f.mixed[i] = newTiming(readWriteBounds)
	}
	f.Update(c.Schemas, c.Levels)
	return f
}

// Run has levels lend and borrow seats until ctx ends.
func (c *Controller) Run(ctx context.Context) {
	ticker := c.clock.NewTicker(sampleEvery)
	defer ticker.Stop()
	for n := 1; ; n++ {
		select {
		case <-ctx.Done():
			return
		case <-ticker.C():
			c.sample()
			if n%int(adjustEvery/sampleEvery) == 0 {
				c.adjust()
			}
		}
	}
}

// Classify finds the request's schema, level and flow and estimates its width.
// The request's User and Info must not change as long as the ticket is in use.
func (c *Controller) Classify(r Request, t *Ticket) {
	t.request = r
	for _, s := range *c.schemas.Load() {
		if s.matches(r.User, r.Info) {
			t.schema = s
			break
		}
	}
	if t.schema == nil { // of a user without the groups that all users have
		all := *c.schemas.Load()
		t.schema = all[len(all)-1]
	}
	t.level = t.schema.level
	t.distinguisher = t.schema.distinguisher(r.User, r.Info)
	t.hash = flowHash(c.seed, t.schema.name, t.distinguisher)
	t.width = estimate(&t.request, c.config.Objects, t.schema.nominal)
}

// Counted reports whether lists of a resource are estimated by how many objects
// there are of it.
func (c *Controller) Counted(group, resource string) bool {
	if c.config.Objects == nil {
		return false
	}
	_, known := c.config.Objects.Count(group, resource)
	return known
}

// Update puts the objects in force. Schemas that name no level are left out;
// levels that are no longer there end with their last request.
func (c *Controller) Update(schemas []*flowv1.FlowSchema, levels []*flowv1.PriorityLevelConfiguration) {
	schemas = withMandatory(schemas, c.config.Schemas)
	levels = withMandatory(levels, c.config.Levels)
	c.mu.Lock()
	defer c.mu.Unlock()
	wanted := c.updateLevels(levels)
	c.divide(false)
	c.updateSchemas(schemas, wanted)
	for name, l := range c.levels {
		if _, ok := wanted[name]; !ok && l.quiesce() {
			delete(c.levels, name)
		}
	}
}

// withMandatory adds the mandatory defaults that are not there.
func withMandatory[T interface{ GetName() string }](objects, defaults []T) []T {
	have := map[string]bool{}
	for _, o := range objects {
		have[o.GetName()] = true
	}
	objects = slices.Clip(objects)
	for _, d := range defaults {
		if name := d.GetName(); !have[name] && (name == mandatoryExempt || name == mandatoryCatchAll) {
			objects = append(objects, d)
		}
	}
	return objects
}

// wantedLevel is a level with what its object says of it.
type wantedLevel struct {
	*level
	limits
	uid []string
}

func (c *Controller) updateLevels(objects []*flowv1.PriorityLevelConfiguration) map[string]wantedLevel {
	allShares := 0.0
	for _, o := range objects {
		shares, _, _ := sharesOf(o)
		allShares += float64(shares)
	}
	wanted := map[string]wantedLevel{}
	for _, o := range objects {
		x := limitsOf(o, c.config.Reads+c.config.Writes, allShares)
		l := c.levels[o.Name]
		if l == nil {
			l = newLevel(o.Name, c.clock)
			c.levels[o.Name] = l
		}
		l.configure(o, x)
		wanted[o.Name] = wantedLevel{l, x, headerValue(string(o.UID))}
	}
	return wanted
}

func headerValue(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (c *Controller) updateSchemas(objects []*flowv1.FlowSchema, levels map[string]wantedLevel) {
	var all []*schema
	named := map[*level]map[string]bool{}
	for _, o := range objects {
		l, ok := levels[o.Spec.PriorityLevelConfiguration.Name]
		if !ok {
			continue
		}
		if named[l.level] == nil {
			named[l.level] = map[string]bool{}
		}
		named[l.level][o.Name] = true
		s := &schema{
			name: o.Name, order: o.Spec.MatchingPrecedence, rules: o.Spec.Rules, level: l.level, flow: l.flow(o.Name),
			nominal: l.limits.nominal, uid: headerValue(string(o.UID)), levelUID: l.uid,
		}
		if m := o.Spec.DistinguisherMethod; m != nil {
			s.by = m.Type
		}
		all = append(all, s)
	}
	sortSchemas(all)
	c.schemas.Store(&all)
	for _, l := range c.levels {
		l.forget(named[l])
	}
}

// flow finds the counters of a schema's requests.
func (l *level) flow(schema string) *flowStats {
	l.mu.Lock()
	defer l.mu.Unlock()
	f := l.stats.flows[schema]
	if f == nil {
		f = newFlowStats()
		l.stats.flows[schema] = f
	}
	return f
}

// forget drops the counters of schemas that are no more.
func (l *level) forget(but map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.stats.flows, func(name string, _ *flowStats) bool { return !but[name] })
}

// adjust ends a period: levels get the seats that their demand calls for.
func (c *Controller) adjust() {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.divide(true)
	for name, l := range c.levels {
		if l.isQuiescing() && l.quiesce() {
			delete(c.levels, name)
		}
	}
}

func (l *level) isQuiescing() bool {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.quiescing
}

// divide gives each level its seats, by the demand of the period that ends, or
// by that of the one before.
func (c *Controller) divide(endPeriod bool) {
	levels := slices.Collect(maps.Values(c.levels))
	shares := make([]share, len(levels))
	for i, l := range levels {
		shares[i] = l.share(endPeriod)
	}
	c.fair = divide(c.config.Reads+c.config.Writes, shares)
	for i, l := range levels {
		l.resize(shares[i].seats, shares[i].target)
	}
}

// share is the level's part in a division.
func (l *level) share(endPeriod bool) share {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	if endPeriod {
		l.stats.period = l.stats.demand.next(&l.stats.period)
	}
	p := l.stats.period
	return share{limits: l.limits, exempt: l.exempt, high: p.high, smooth: p.smooth}
}

// sample compares how many reads and writes execute and wait with their limits.
func (c *Controller) sample() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.mixture()
	for i := range c.mixed {
		c.mixed[i].elapse(sampleEvery)
		c.mixed[i].set(ratio(n[i], [2]int{c.config.Reads, c.config.Writes}[i%2]))
	}
}

// mixture counts the reads and the writes that execute, then those that wait.
func (c *Controller) mixture() (n [4]int) {
	for _, l := range c.levels {
		l.mu.Lock()
		for i, k := range [4]int{l.readsIn, l.writesIn, l.readsQueued, l.writesQueued} {
			n[i] += k
		}
		l.mu.Unlock()
	}
	return n
}
