package main

import (
	"bytes"
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"maps"
	"net/http"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	dto "github.com/prometheus/client_model/go"
	"github.com/prometheus/common/expfmt"
	"github.com/prometheus/common/model"
	"github.com/spf13/pflag"

	"triplane.dev/generic/serve/mux"
	"triplane.dev/generic/serve/server"
	"triplane.dev/internal/adminclient"
)

const statusUsage = `Prints the status of a running server: readiness, version, the servers of the chain, the
size of the storage, and the most requested resources.

Usage:
  triplane status [flags]

Facts that the user of the kubeconfig may not read are omitted. The exit code is 1 if the
server is not ready. With --ready nothing is printed, for health checks of containers.
`

// errNotReady is returned after the status was printed.
var errNotReady = errors.New("the server is not ready")

// showStatus implements the command status.
func showStatus(ctx context.Context, args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("status", pflag.ContinueOnError)
	var flags remoteFlags
	flags.add(fs)
	only := fs.Bool("ready", false, "Print nothing, and exit with 0 if the server is ready, with 1 otherwise.")
	if help, err := parse(fs, statusUsage, args, out); help || err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	r, err := flags.connect()
	if err != nil {
		return err
	}
	s := &statusReport{Client: r, table: tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)}
	ready, err := s.readiness(ctx)
	if err != nil {
		return err
	}
	if *only {
		return readiness(ready)
	}
	for _, part := range []func(context.Context) error{s.version, s.chain, s.metrics} {
		if err := part(ctx); err != nil && !adminclient.HasCode(err, http.StatusForbidden, http.StatusUnauthorized,
			http.StatusNotFound) {
			return errors.Join(s.table.Flush(), err)
		}
	}
	if err := s.table.Flush(); err != nil {
		return err
	}
	return readiness(ready)
}

// readiness returns errNotReady if the server is not ready.
func readiness(ready bool) error {
	if !ready {
		return errNotReady
	}
	return nil
}

// statusReport prints facts about a server, one per line.
type statusReport struct {
	*adminclient.Client
	table *tabwriter.Writer
}

func (s *statusReport) line(name, format string, args ...any) {
	_, _ = fmt.Fprintf(s.table, "%s\t%s\n", name, fmt.Sprintf(format, args...)) // Flush returns the error
}

func (s *statusReport) read(ctx context.Context, path string) ([]byte, error) {
	body, err := s.Send(ctx, http.MethodGet, path, nil)
	if err != nil {
		return nil, err
	}
	defer body.Close()
	return io.ReadAll(body)
}

// readiness reports whether the server is ready; it returns an error if the server does not respond.
func (s *statusReport) readiness(ctx context.Context) (bool, error) {
	s.line("server", "%s", s.Base)
	_, err := s.read(ctx, "/readyz")
	var r *adminclient.StatusError
	switch {
	case err == nil:
		s.line("ready", "yes")
		return true, nil
	case errors.As(err, &r) && r.Code == http.StatusInternalServerError:
		for check := range strings.SplitSeq(r.Message, "\n") {
			if strings.HasPrefix(check, "[-]") {
				s.line("ready", "no: %s", strings.TrimPrefix(check, "[-]"))
			}
		}
		return false, nil
	}
	return false, err
}

func (s *statusReport) version(ctx context.Context) error {
	raw, err := s.read(ctx, "/version")
	if err != nil {
		return err
	}
	var v struct{ GitVersion, GoVersion, EmulationMajor, EmulationMinor string }
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	s.line("version", "%s, emulates %s.%s, %s", v.GitVersion, v.EmulationMajor, v.EmulationMinor, v.GoVersion)
	return nil
}

func (s *statusReport) chain(ctx context.Context) error {
	raw, err := s.read(ctx, server.ChainPath)
	if err != nil {
		return err
	}
	var v struct {
		Servers []struct {
			Name    string
			Claims  []mux.Claim
			Traffic struct{ Requests map[string]uint64 }
		}
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		return err
	}
	title := "chain"
	for _, each := range v.Servers {
		var counts []string
		for _, class := range slices.Sorted(maps.Keys(each.Traffic.Requests)) {
			counts = append(counts, fmt.Sprintf("%d %s", each.Traffic.Requests[class], class))
		}
		if len(each.Claims) > 0 || len(counts) > 0 {
			s.line(title, "%s, %d claims, requests: %s", each.Name, len(each.Claims),
				cmp.Or(strings.Join(counts, ", "), "none"))
			title = ""
		}
		for _, c := range each.Claims {
			if c.External != nil && !c.External.Available {
				s.line("unavailable", "%s at %s: %s", c.Object, c.External.Service, c.External.Message)
			}
		}
	}
	return nil
}

// busiest is the number of resources in the list.
const busiest = 5

func (s *statusReport) metrics(ctx context.Context) error {
	raw, err := s.read(ctx, "/metrics")
	if err != nil {
		return err
	}
	parser := expfmt.NewTextParser(model.LegacyValidation)
	families, err := parser.TextToMetricFamilies(bytes.NewReader(raw))
	if err != nil {
		return err
	}
	if used, quota := sum(families["triplane_embedded_etcd_used_bytes"]),
		sum(families["triplane_embedded_etcd_quota_bytes"]); quota > 0 {
		s.line("store", "%.1f MiB of %.0f MiB in use", used/(1<<20), quota/(1<<20))
	} else if size := sum(families["apiserver_storage_size_bytes"]); size > 0 {
		s.line("store", "%.1f MiB in etcd", size/(1<<20))
	}
	s.line("memory", "%.0f MiB", sum(families["process_resident_memory_bytes"])/(1<<20))
	if begun := sum(families["process_start_time_seconds"]); begun > 0 {
		s.line("up", "%v", time.Since(time.Unix(int64(begun), 0)).Round(time.Second))
	}
	s.line("watches", "%.0f open", sum(families["apiserver_longrunning_requests"]))
	if states := families["triplane_workspaces"]; states != nil {
		s.line("workspaces", "%.0f awake, %.0f asleep", inState(states, "awake"), inState(states, "asleep"))
	}
	s.mostRequested(families["apiserver_request_total"])
	return nil
}

// mostRequested prints the resources with the most requests.
func (s *statusReport) mostRequested(requests *dto.MetricFamily) {
	counts := map[string]float64{}
	for _, m := range requests.GetMetric() {
		var resource, group string
		for _, l := range m.GetLabel() {
			switch l.GetName() {
			case "resource":
				resource = l.GetValue()
			case "group":
				group = l.GetValue()
			}
		}
		if resource != "" {
			counts[strings.TrimSuffix(resource+"."+group, ".")] += m.GetCounter().GetValue()
		}
	}
	names := slices.SortedFunc(maps.Keys(counts), func(a, b string) int {
		return cmp.Or(cmp.Compare(counts[b], counts[a]), cmp.Compare(a, b))
	})
	title := "busiest"
	for _, name := range names[:min(busiest, len(names))] {
		s.line(title, "%s, %.0f requests", name, counts[name])
		title = ""
	}
}

// inState returns the value of a metric family with a label "state".
func inState(f *dto.MetricFamily, state string) (value float64) {
	for _, m := range f.GetMetric() {
		for _, l := range m.GetLabel() {
			if l.GetName() == "state" && l.GetValue() == state {
				value += m.GetGauge().GetValue()
			}
		}
	}
	return value
}

// sum returns the sum of the values of a metric family.
func sum(f *dto.MetricFamily) (total float64) {
	for _, m := range f.GetMetric() {
		total += m.GetGauge().GetValue() + m.GetCounter().GetValue() + m.GetUntyped().GetValue()
	}
	return total
}
