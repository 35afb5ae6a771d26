package main

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"time"
)

// limit is the aim of a row: the most that it may take.
type limit struct {
	work, unit string
	most       float64
	// hourly limits are times: those of a machine on which etcd's own transaction takes
	// yardstickEtcd.
	hourly bool
	// value is what was measured; ok is false where it was not.
	value func(r *results) (v float64, ok bool)
}

// yardstickEtcd is the CPU of a raw etcd create transaction, in milliseconds, in the
// hour from which the limits are.
const yardstickEtcd = 0.2

func limits() []limit {
	cpu := func(server, resource, phase string) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) { return r.cpu(rowKey{resource, phase}, server) }
	}
	latency := func(server, resource, phase string, of func(measured) time.Duration) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) { return r.latency(rowKey{resource, phase}, server, of) }
	}
	kept := func(what string) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) { return r.keptMB(what) }
	}
	const created, ms, served = "create, until it is served", "ms", "ms CPU"
	crd := largeResource()
	return []limit{
		{"CRD of 47 KB, created by 16 clients, each", served, 15, true, cpu(definitionsName, crd, created)},
		{"the same, p50 until served", ms, 60, true, latency(definitionsName, crd, created, measured.median)},
		{"memory for each such CRD, idle", "MB", 0.15, false, kept(idleDefinition)},
		{"first `/openapi/v2` with 200 of them", served, 500, true, cpu(definitionsName, crd, "first /openapi/v2")},
		{"second `/openapi/v2`", served, 10, true, cpu(definitionsName, crd, "second /openapi/v2")},
		{"all of `/openapi/v3`", served, 500, true, cpu(definitionsName, crd, "all of /openapi/v3")},
		{"start with 200 of them and their objects", served, 300, true, cpu(definitionsName, crd, "start with all of them")},
		{"first list with a label selector, 3,000 pods", served, 8, true, cpu(restartedName, pods.name, firstSelected)},
		{"list with a label selector after that", served, 0.5, true, cpu(restartedName, pods.name, nextSelected)},
		{"first full list, 3,000 pods, JSON", served, 60, true, cpu(restartedName, pods.name, firstList)},
		{"protobuf list, 3,000 pods", served, 10, true, cpu(embeddedName, pods.name, "list, protobuf")},
		{"watch delivery, 100 watchers", served, 0.02, true, cpu(embeddedName, configMaps.name, "event to each of 100 watchers")},
		{"create, ConfigMap", served, 0.35, true, cpu(embeddedName, configMaps.name, "create")},
		{"create, pod", served, 0.7, true, cpu(embeddedName, pods.name, "create")},
		{"apply, ConfigMap", served, 0.45, true, cpu(embeddedName, configMaps.name, "server-side apply (create)")},
		{"memory after load (3,000 pods, 6,000 ConfigMaps × 3)", "MB", 160, false, func(r *results) (float64, bool) { return r.loadedMB(embeddedName) }},
		{"idle memory", "MB", 55, false, func(r *results) (float64, bool) { return r.idleMB(embeddedName) }},
		{"p99 of get under 16 clients", ms, 4, true, latency(embeddedName, configMaps.name, "get, consistent", measured.slow)},
		{"p99 of create under 16 clients", ms, 10, true, latency(embeddedName, configMaps.name, "create", measured.slow)},
	}
}

// obstaclesFile has a section for each limit, with the reasons if it is not held. The path is relative to the
// module's root, where make runs the program.
const obstaclesFile = "docs/performance/obstacles.md"

// writeLimits writes the table of limits, and the reasons of those that are not held.
func (r *results) writeLimits(w *bytes.Buffer) {
	hour := 1.0
	if etcd, ok := r.cpu(rowKey{"key of 0.5 KB", rawCreate}, etcdName); ok {
		hour = etcd / yardstickEtcd
	}
	fmt.Fprintf(w, "\n## Aims\n\nAims for times are of an hour in which etcd's own create transaction took %.2f ms of CPU; in this one it took %.3f ms, and they are %.2f of that.\n\n"+
		"| work | aim | aim in this hour | measured | held |\n| --- | --- | --- | --- | --- |\n", yardstickEtcd, hour*yardstickEtcd, hour)
	var missed []string
	for _, l := range limits() {
		most, held := l.most, "yes"
		if l.hourly {
			most *= hour
		}
		v, ok := l.value(r)
		switch {
		case !ok:
			fmt.Fprintf(w, "| %s | ≤ %s %s | ≤ %s | – | – |\n", l.work, number(l.most), l.unit, number(most))
			continue
		case v > most:
			held = "**no**"
			missed = append(missed, l.work)
		}
		fmt.Fprintf(w, "| %s | ≤ %s %s | ≤ %s | %s | %s |\n", l.work, number(l.most), l.unit, number(most), number(v), held)
	}
	listed, ok := r.keptMB(listedDefinition)
	if used, also := r.keptMB(usedDefinition); ok && also {
		fmt.Fprintf(w, "\nA CRD of 47 KB that is listed takes %s MB, and one whose objects are written %s MB, with the OpenAPI documents: its schema is compiled, and known to managed fields, until ten minutes after the last request.\n",
			number(listed), number(used))
	}
	writeObstacles(w, missed)
}

// writeObstacles writes the sections of obstaclesFile for the rows that miss their aim.
func writeObstacles(w *bytes.Buffer, missed []string) {
	if len(missed) == 0 {
		return
	}
	obstacles, err := os.ReadFile(obstaclesFile)
	if err != nil {
		fmt.Fprintf(os.Stderr, "bench: reasons of missed aims: %v\n", err)
	}
	sections := map[string]string{}
	for section := range strings.SplitSeq(string(obstacles), "\n### ") {
		title, text, _ := strings.Cut(section, "\n")
		sections[title] = strings.TrimSpace(text)
	}
	fmt.Fprint(w, "\n## What stands in the way\n")
	for _, work := range missed {
		text := sections[work]
		if text == "" {
			text = "Not looked into yet."
		}
		fmt.Fprintf(w, "\n### %s\n\n%s\n", work, text)
	}
}
