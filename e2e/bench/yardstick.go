package main

import "fmt"

// yardstick is what kube-apiserver v1.36.2 with etcd 3.6.16 took for a row, on a
// machine of two cores in a quiet and in a noisy hour, and the share of it that
// is the aim.
type yardstick struct {
	resource, phase string
	work            string
	unit            string
	low, high       float64
	aim             float64
	// value is ours; ok is false where it was not measured.
	value func(r *results, server string) (v float64, ok bool)
}

// aims are the rows of the table of aims. CPU is in milliseconds, memory in MB.
func aims() []yardstick {
	cpu := func(r resource, phase string, low, high, aim float64) yardstick {
		return yardstick{
			resource: r.name, phase: phase, work: phase + ", " + r.kind, unit: "ms CPU", low: low, high: high, aim: aim,
			value: func(res *results, server string) (float64, bool) { return res.cpu(rowKey{r.name, phase}, server) },
		}
	}
	return []yardstick{
		{work: "exec to /readyz 200, fresh store", unit: "ms", low: 2200, high: 3000, aim: 0.1,
			value: (*results).readyMillis},
		{work: "resident memory, idle", unit: "MB", low: 318, high: 318, aim: 80.0 / 318, value: (*results).idleMB},
		cpu(configMaps, "create", 0.58, 0.87, 0.4),
		cpu(configMaps, "get, consistent", 0.31, 0.42, 0.25),
		cpu(configMaps, "get, resourceVersion=0", 0.20, 0.25, 0.35),
		cpu(configMaps, "update", 0.72, 1.15, 0.4),
		cpu(configMaps, "merge patch", 0.81, 1.14, 0.4),
		cpu(configMaps, "server-side apply (create)", 0.90, 1.17, 0.45),
		cpu(pods, "create", 1.43, 1.73, 0.35),
		cpu(pods, "delete, beside 200 CRDs", 2.5, 2.75, 0.2),
		cpu(pods, "list, JSON", 153, 153, 0.1),
		cpu(pods, "list, resourceVersion=0", 132, 157, 0.1),
		cpu(pods, "list, protobuf", 68, 75, 0.12),
		cpu(pods, "page of 500", 32, 32, 0.1),
		cpu(pods, "list as Table", 100, 100, 0.25),
		cpu(configMaps, "event to each of 100 watchers", 0.033, 0.041, 0.35),
		{work: "event to each of 100 watchers, p50", unit: "ms", low: 3.3, high: 3.3, aim: 0.5,
			value: (*results).eventMillis},
		{work: "resident memory after 3,000 pods and 6,000 ConfigMaps with 3 revisions", unit: "MB", low: 750, high: 780, aim: 0.33, value: (*results).loadedMB},
		{work: "p99 of a user's gets beside a flood of another's lists, over that of one alone", unit: "×", low: 1, high: 1, aim: 3, value: (*results).floodRatio},
		{work: rawCreate, unit: "ms CPU", low: 0.08, high: 0.08, aim: 1,
			value: func(res *results, _ string) (float64, bool) {
				return res.cpu(rowKey{"key of 0.5 KB", rawCreate}, etcdName)
			}},
	}
}

// compare is a line of the table of aims for one server.
func (y *yardstick) compare(res *results, server string) string {
	v, ok := y.value(res, server)
	if !ok {
		return ""
	}
	reference := fmt.Sprintf("%s–%s", number(y.low), number(y.high))
	if y.low == y.high {
		reference = number(y.low)
	}
	held := "yes"
	switch {
	case y.aim == 1:
		held = "floor"
	case v > y.aim*y.high:
		held = "**no**"
	case v > y.aim*y.low:
		held = "by the noisy hour's"
	}
	return fmt.Sprintf("| %s | %s %s | ≤ %.2f × | %s %s | %.2f × | %s |\n", y.work, reference, y.unit, y.aim, number(v),
		y.unit, v/((y.low+y.high)/2), held)
}

// number prints three digits that count.
func number(v float64) string {
	switch {
	case v >= 100:
		return fmt.Sprintf("%.0f", v)
	case v >= 10:
		return fmt.Sprintf("%.1f", v)
	case v >= 1:
		return fmt.Sprintf("%.2f", v)
	}
	return fmt.Sprintf("%.3f", v)
}
