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

// Config configures a Controller.
type Config struct {
	// Reads and Writes are --max-requests-inflight and --max-mutating-requests-inflight. Their sum is the
	// number of the server's seats.
	Reads, Writes int
	// Schemas and Levels are the initial objects. They must include the mandatory objects (named exempt and
	// catch-all), which are also used whenever Update does not pass them.
	Schemas []*flowv1.FlowSchema
	Levels  []*flowv1.PriorityLevelConfiguration
	// Objects provides counts for estimates. With nil every request is estimated to need one seat.
	Objects Objects
	// Clock is the clock; nil is the real one.
	Clock clock.WithTickerAndDelayedExecution
}

// Names of the mandatory objects.
const (
	mandatoryExempt   = flowv1.FlowSchemaNameExempt
	mandatoryCatchAll = flowv1.FlowSchemaNameCatchAll
)

const (
	// sampleEvery is the interval at which the numbers of reads and writes are sampled.
	sampleEvery = time.Second
	// adjustEvery is the interval at which seats are lent and borrowed.
	adjustEvery = 10 * time.Second
)

// Controller decides when requests may execute, by the priority levels of a server.
type Controller struct {
	config Config
	clock  clock.WithTickerAndDelayedExecution
	seed   maphash.Seed
	// schemas are sorted in the order in which they are tried.
	schemas atomic.Pointer[[]*schema]

	mu     sync.Mutex // guards the following fields; locked before the mutex of a level
	levels map[string]*level
	fair   float64
	mixed  [4]timing // executing reads and writes, then waiting reads and writes
}

// New returns a controller with the initial schemas and levels.
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

// Run adjusts the seats of levels periodically until ctx ends.
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

// Classify sets t's schema, level and flow, and estimates the request's width. User and Info of the request
// must not change as long as the ticket is used.
func (c *Controller) Classify(r Request, t *Ticket) { c.ClassifyIn("", r, t) }

// ClassifyIn is Classify for a request in a workspace, whose flows differ from those of others; "" is none.
func (c *Controller) ClassifyIn(workspace string, r Request, t *Ticket) {
	t.request = r
	for _, s := range *c.schemas.Load() {
		if s.matches(r.User, r.Info) {
			t.schema = s
			break
		}
	}
	if t.schema == nil { // the user lacks both system:authenticated and system:unauthenticated
		all := *c.schemas.Load()
		t.schema = all[len(all)-1]
	}
	t.level = t.schema.level
	t.distinguisher = t.schema.distinguisher(r.User, r.Info)
	objects := c.config.Objects
	if workspace != "" {
		t.distinguisher = workspace + "/" + t.distinguisher
		objects = nil // of the server's own resources
	}
	t.hash = flowHash(c.seed, t.schema.name, t.distinguisher)
	t.width = estimate(&t.request, objects, t.schema.nominal)
}

// Counted reports whether the estimate for lists of a resource depends on the number of its objects.
func (c *Controller) Counted(group, resource string) bool {
	if c.config.Objects == nil {
		return false
	}
	_, known := c.config.Objects.Count(group, resource)
	return known
}

// Update replaces the schemas and levels. A schema whose level does not exist is ignored. A removed level stays
// until its last request ends.
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

// withMandatory adds missing mandatory objects.
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

// desiredLevel is a level with the limits and UID of its object.
type desiredLevel struct {
	*level
	limits
	uid []string
}

func (c *Controller) updateLevels(objects []*flowv1.PriorityLevelConfiguration) map[string]desiredLevel {
	allShares := 0.0
	for _, o := range objects {
		shares, _, _ := sharesOf(o)
		allShares += float64(shares)
	}
	wanted := map[string]desiredLevel{}
	for _, o := range objects {
		x := limitsOf(o, c.config.Reads+c.config.Writes, allShares)
		l := c.levels[o.Name]
		if l == nil {
			l = newLevel(o.Name, c.clock)
			c.levels[o.Name] = l
		}
		l.configure(o, x)
		wanted[o.Name] = desiredLevel{l, x, headerValue(string(o.UID))}
	}
	return wanted
}

func headerValue(s string) []string {
	if s == "" {
		return nil
	}
	return []string{s}
}

func (c *Controller) updateSchemas(objects []*flowv1.FlowSchema, levels map[string]desiredLevel) {
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
		l.deleteFlows(named[l])
	}
}

// flow returns the counters for the requests of a schema.
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

// deleteFlows deletes the counters of removed schemas.
func (l *level) deleteFlows(but map[string]bool) {
	l.mu.Lock()
	defer l.mu.Unlock()
	maps.DeleteFunc(l.stats.flows, func(name string, _ *flowStats) bool { return !but[name] })
}

// adjust ends a period and sets the seats of levels by their demand.
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

// divide sets the seats of each level, by the demand of the period that ends, or by that of the previous
// period.
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

// share returns the level's input for divide.
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

// sample observes the numbers of executing and waiting reads and writes relative to their limits.
func (c *Controller) sample() {
	c.mu.Lock()
	defer c.mu.Unlock()
	n := c.mixture()
	for i := range c.mixed {
		c.mixed[i].elapse(sampleEvery)
		c.mixed[i].set(ratio(n[i], [2]int{c.config.Reads, c.config.Writes}[i%2]))
	}
}

// mixture counts the executing reads and writes, then the waiting reads and writes.
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
