package flowcontrol

import (
	"maps"
	"math"
	"slices"

	"github.com/prometheus/client_golang/prometheus"
)

// desc returns the description of a flow control metric, which has kube-apiserver's name.
func desc(name, help string, labels ...string) *prometheus.Desc {
	return prometheus.NewDesc("apiserver_flowcontrol_"+name, help, labels, nil)
}

// descriptions are the descriptions of all metrics.
type descriptions struct {
	rejected, dispatched, noRoom                           *prometheus.Desc
	executing, seats, waiting, waitingSeats                *prometheus.Desc
	wait, execution, queueLength, estimates, watchCounts   *prometheus.Desc
	nominal, lower, upper, limit, target                   *prometheus.Desc
	demand, demandHigh, demandAverage, demandDev, smoothed *prometheus.Desc
	seatUse, requestUse                                    *prometheus.Desc
	currentR, dispatchR, latestS, nextS, nextDiscounted    *prometheus.Desc
	fair, mixed, inQueue                                   *prometheus.Desc
}

func newDescriptions() *descriptions {
	const level, flow = "priority_level", "flow_schema"
	return &descriptions{
		rejected:   desc("rejected_requests_total", "Requests that were not executed.", level, flow, "reason"),
		dispatched: desc("dispatched_requests_total", "Requests that were let in.", level, flow),
		noRoom: desc("request_dispatch_no_accommodation_total",
			"Attempts to dispatch a request that found too few free seats.", level, flow),
		executing: desc("current_executing_requests", "Executing requests. A watch counts only during its initialization.",
			level, flow),
		seats:        desc("current_executing_seats", "Seats in use.", level, flow),
		waiting:      desc("current_inqueue_requests", "Requests that wait in queues.", level, flow),
		waitingSeats: desc("current_inqueue_seats", "Seats that the requests in queues will take.", level, flow),
		wait: desc("request_wait_duration_seconds", "Seconds that requests waited in a queue.", level, flow,
			"execute"),
		execution: desc("request_execution_seconds", "Seconds that requests executed.", level, flow, "type"),
		queueLength: desc("request_queue_length_after_enqueue",
			"Length of a queue, observed after each request that is added to it.", level, flow),
		estimates:   desc("work_estimated_seats", "Seats that requests are estimated to need at most.", level, flow),
		watchCounts: desc("watch_count_samples", "Watches that see a write, for each write.", level, flow),

		nominal: desc("nominal_limit_seats", "Seats of a level by its shares.", level),
		lower:   desc("lower_limit_seats", "The least seats that lending may leave a level.", level),
		upper:   desc("upper_limit_seats", "The most seats that borrowing may give a level.", level),
		limit:   desc("current_limit_seats", "Seats of a level at present.", level),
		target:  desc("target_seats", "Seats that a level should have by its demand.", level),
		demand: desc("demand_seats",
			"Demand of seats relative to the level's nominal seats, observed each nanosecond.", level),
		demandHigh:    desc("demand_seats_high_watermark", "The highest demand of the last adjustment period.", level),
		demandAverage: desc("demand_seats_average", "The average demand of the last adjustment period.", level),
		demandDev:     desc("demand_seats_stdev", "Standard deviation of the demand in the last adjustment period.", level),
		smoothed:      desc("demand_seats_smoothed", "The demand, smoothed over periods.", level),
		seatUse: desc("priority_level_seat_utilization",
			"Seats in use relative to the level's seats, observed each nanosecond.", level, "phase"),
		requestUse: desc("priority_level_request_utilization",
			"Requests relative to the room for them, observed each nanosecond.", level, "phase"),

		currentR:  desc("current_r", "Virtual time of a level's queues, in seat-seconds.", level),
		dispatchR: desc("dispatch_r", "Virtual time of the last dispatch.", level),
		latestS:   desc("latest_s", "Virtual start of the request that was dispatched last.", level),
		nextS: desc("next_s_bounds", "Smallest and largest virtual start time of the first requests in queues.",
			level, "bound"),
		nextDiscounted: desc("next_discounted_s_bounds",
			"Smallest and largest virtual start time, less the estimated work that is executing.", level, "bound"),

		fair: desc("seat_fair_frac", "The fraction of their targets that levels get."),
		mixed: desc("read_vs_write_current_requests", "Requests of a kind relative to the limit for that kind.", "phase",
			"request_kind"),
		inQueue: prometheus.NewDesc("apiserver_current_inqueue_requests", "Requests that wait in queues, by kind.",
			[]string{"request_kind"}, nil),
	}
}

// collector collects a controller's metrics on each scrape.
type collector struct {
	*descriptions
	controller *Controller
}

// Collector returns a collector of the controller's metrics.
func (c *Controller) Collector() prometheus.Collector { return collector{newDescriptions(), c} }

// Describe implements prometheus.Collector.
func (c collector) Describe(out chan<- *prometheus.Desc) {
	out <- c.fair // one description is enough to detect a duplicate registration
}

// sink sends metrics with common labels.
type sink struct {
	out    chan<- prometheus.Metric
	labels []string
}

func (s sink) value(d *prometheus.Desc, t prometheus.ValueType, v float64, more ...string) {
	s.out <- prometheus.MustNewConstMetric(d, t, v, slices.Concat(s.labels, more)...)
}

func (s sink) gauge(d *prometheus.Desc, v float64, more ...string) {
	s.value(d, prometheus.GaugeValue, v, more...)
}

func (s sink) count(d *prometheus.Desc, v uint64, more ...string) {
	s.value(d, prometheus.CounterValue, float64(v), more...)
}

func (s sink) histogram(d *prometheus.Desc, h *histogram, more ...string) {
	if h.total > 0 {
		s.out <- h.metric(d, slices.Concat(s.labels, more)...)
	}
}

// Collect implements prometheus.Collector.
func (c collector) Collect(out chan<- prometheus.Metric) {
	c.controller.mu.Lock()
	defer c.controller.mu.Unlock()
	all := sink{out: out}
	all.gauge(c.fair, c.controller.fair)
	n := c.controller.mixture()
	all.gauge(c.inQueue, float64(n[2]), "readOnly")
	all.gauge(c.inQueue, float64(n[3]), "mutating")
	for i := range c.controller.mixed {
		all.histogram(c.mixed, &c.controller.mixed[i].histogram, [2]string{"executing", "waiting"}[i/2],
			[2]string{"readOnly", "mutating"}[i%2])
	}
	for name, l := range c.controller.levels {
		c.level(sink{out, []string{name}}, l)
	}
}

func (c collector) level(s sink, l *level) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.advance()
	st := &l.stats
	s.gauge(c.nominal, float64(l.nominal))
	s.gauge(c.lower, float64(l.lower))
	s.gauge(c.upper, float64(l.upper))
	s.gauge(c.limit, float64(l.limit))
	s.gauge(c.target, math.Round(st.target))
	s.gauge(c.demandHigh, st.period.high)
	s.gauge(c.demandAverage, st.period.average)
	s.gauge(c.demandDev, st.period.deviation)
	s.gauge(c.smoothed, st.period.smooth)
	s.histogram(c.demand, &st.demanded.histogram)
	s.histogram(c.seatUse, &st.seatsUsed.histogram, "executing")
	s.histogram(c.requestUse, &st.executingIn.histogram, "executing")
	if len(l.queues) > 0 {
		s.histogram(c.requestUse, &st.queued.histogram, "waiting")
		c.virtual(s, l)
	}
	for schema, f := range st.flows {
		c.flow(sink{s.out, append(slices.Clone(s.labels), schema)}, f)
	}
}

// virtual sends the metrics of virtual time.
func (c collector) virtual(s sink, l *level) {
	s.gauge(c.currentR, l.r)
	s.gauge(c.dispatchR, l.stats.dispatchR)
	s.gauge(c.latestS, l.stats.latestS)
	low, high, lowDiscounted, highDiscounted := math.Inf(1), math.Inf(-1), math.Inf(1), math.Inf(-1)
	for _, q := range l.backlogged {
		start, discounted := q.next, q.next-estimatedSeconds*float64(q.seats)
		low, high = min(low, start), max(high, start)
		lowDiscounted, highDiscounted = min(lowDiscounted, discounted), max(highDiscounted, discounted)
	}
	s.gauge(c.nextS, low, "min")
	s.gauge(c.nextS, high, "max")
	s.gauge(c.nextDiscounted, lowDiscounted, "min")
	s.gauge(c.nextDiscounted, highDiscounted, "max")
}

func (c collector) flow(s sink, f *flowStats) {
	s.gauge(c.executing, float64(f.executing))
	s.gauge(c.seats, float64(f.seats))
	s.gauge(c.waiting, float64(f.waiting))
	s.gauge(c.waitingSeats, float64(f.waitingSeats))
	s.count(c.dispatched, f.dispatches)
	if f.noRoom > 0 {
		s.count(c.noRoom, f.noRoom)
	}
	for i, n := range f.refusals {
		if n > 0 {
			s.count(c.rejected, n, string(rejections[i]))
		}
	}
	s.histogram(c.wait, &f.waited, "true")
	s.histogram(c.wait, &f.waitedRejected, "false")
	s.histogram(c.execution, &f.regular, "regular")
	s.histogram(c.execution, &f.watches, "watch")
	s.histogram(c.queueLength, &f.queueLength)
	s.histogram(c.estimates, &f.estimates)
	s.histogram(c.watchCounts, &f.watchCounts)
}

// sorted returns the levels ordered by name.
func (c *Controller) sorted() []*level {
	c.mu.Lock()
	defer c.mu.Unlock()
	all := make([]*level, 0, len(c.levels))
	for _, name := range slices.Sorted(maps.Keys(c.levels)) {
		all = append(all, c.levels[name])
	}
	return all
}
