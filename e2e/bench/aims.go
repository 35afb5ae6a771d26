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
	// value is what was measured; ok is false where it was not.
	value func(r *results) (v float64, ok bool)
}

// multiples are limits in CPU of the bare server for the same requests.
func multiples() []limit {
	var all []limit
	add := func(of resource, most float64, rows ...string) {
		for _, phase := range rows {
			all = append(all, limit{phase + ", " + of.kind, "×", most, func(r *results) (float64, bool) {
				return r.multiple(rowKey{of.name, phase})
			}})
		}
	}
	reads := []string{"get, consistent", "get, resourceVersion=0", "list, JSON", "list, resourceVersion=0",
		"list, protobuf", "page of 500"}
	writes := []string{"create", "update", "merge patch", "server-side apply (create)"}
	add(configMaps, 1.15, reads...)
	add(pods, 1.15, reads...)
	add(configMaps, 1.1, "event to each of 100 watchers", "event to each of 1000 watchers")
	add(configMaps, 1.5, "list as Table")
	add(pods, 1.5, "list as Table")
	add(configMaps, 1.3, writes...)
	add(pods, 2, writes...)
	add(configMaps, 1.2, "delete")
	add(pods, 1.2, "delete, beside 200 CRDs")
	return all
}

// multiple is the CPU of a row as a multiple of the bare server's.
func (r *results) multiple(key rowKey) (float64, bool) {
	ours, ok := r.cpu(key, embeddedName)
	bare, also := r.cpu(key, bareName)
	return ours / bare, ok && also
}

func limits() []limit {
	cpu := func(server, resource, phase string) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) { return r.cpu(rowKey{resource, phase}, server) }
	}
	latency := func(resource, phase string, of func(measured) time.Duration) func(*results) (float64, bool) {
		return func(r *results) (float64, bool) { return r.latency(rowKey{resource, phase}, embeddedName, of) }
	}
	const created, ms, served = "create, until it is served", "ms", "ms CPU"
	crd := largeResource()
	return []limit{
		{"CRD of 47 KB, created by 16 clients, each", served, 15, cpu(definitionsName, crd, created)},
		{"memory for each such CRD, idle", "MB", 0.15,
			func(r *results) (float64, bool) { return r.keptMB(idleDefinition) }},
		{"first `/openapi/v2` with 200 of them", served, 500, cpu(definitionsName, crd, "first /openapi/v2")},
		{"all of `/openapi/v3`", served, 150, cpu(definitionsName, crd, "all of /openapi/v3")},
		{"start with 200 of them and their objects", served, 250, cpu(definitionsName, crd, "start with all of them")},
		{"first full list, 3,000 pods, JSON", served, 40, cpu(restartedName, pods.name, firstList)},
		{"first list with a label selector, 3,000 pods", served, 5, cpu(restartedName, pods.name, firstSelected)},
		{"list with a label selector after that", served, 0.5, cpu(restartedName, pods.name, nextSelected)},
		{"memory after load (3,000 pods, 6,000 ConfigMaps × 3)", "MB", 160,
			func(r *results) (float64, bool) { return r.loadedMB(embeddedName) }},
		{"idle memory, without controllers", "MB", 40,
			func(r *results) (float64, bool) { return r.idleMB(embeddedName) }},
		{"p99 of get under 16 clients", ms, 2.5, latency(configMaps.name, "get, consistent", measured.slow)},
		{"p99 of create under 16 clients", ms, 8, latency(configMaps.name, "create", measured.slow)},
	}
}

// obstaclesFile has a section for each limit, with the reasons if it is not held. The path is relative to the
// module's root, where make runs the program.
const obstaclesFile = "docs/performance/obstacles.md"

// writeLimits writes the tables of limits, and the reasons of those that are not held.
func (r *results) writeLimits(w *bytes.Buffer) {
	fmt.Fprint(w, "\n## Beside the limit\n\nCPU as a multiple of what a bare server of net/http takes for the same requests, over TLS and HTTP/2, "+
		"with prepared bytes and, for a write, one transaction of an etcd in its process.\n\n")
	missed := r.writeTable(w, multiples())
	fmt.Fprint(w, "\n## Aims\n\n")
	missed = append(missed, r.writeTable(w, limits())...)
	listed, ok := r.keptMB(listedDefinition)
	if used, also := r.keptMB(usedDefinition); ok && also {
		fmt.Fprintf(w, "\nA CRD of 47 KB that is listed takes %s MB, and one whose objects are written %s MB, with the OpenAPI documents: its schema is compiled, and known to managed fields, until ten minutes after the last request.\n",
			number(listed), number(used))
	}
	writeObstacles(w, missed)
}

// writeTable writes a table of limits, and returns the work of those that are not held.
func (r *results) writeTable(w *bytes.Buffer, all []limit) (missed []string) {
	fmt.Fprint(w, "| work | aim | measured | held |\n| --- | --- | --- | --- |\n")
	for _, l := range all {
		measured, held := "–", "–"
		if v, ok := l.value(r); ok {
			measured, held = number(v), "yes"
			if v > l.most {
				held = "**no**"
				missed = append(missed, l.work)
			}
		}
		fmt.Fprintf(w, "| %s | ≤ %s %s | %s | %s |\n", l.work, number(l.most), l.unit, measured, held)
	}
	return missed
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
		if text := sections[work]; text != "" {
			fmt.Fprintf(w, "\n### %s\n\n%s\n", work, text)
		} else {
			fmt.Fprintf(w, "\n### %s\n\nNot looked into yet.\n", work)
		}
	}
}
