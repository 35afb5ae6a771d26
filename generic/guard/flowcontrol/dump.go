package flowcontrol

import (
	"fmt"
	"net/http"
	"net/url"
	"slices"
	"strconv"
	"text/tabwriter"
	"time"
)

// DebugPath is the prefix of the paths of Dumps.
const DebugPath = "/debug/api_priority_and_fairness/"

// Dumps returns handlers by their path below DebugPath. They write the formats that the documentation of API
// priority and fairness shows.
func (c *Controller) Dumps() map[string]http.HandlerFunc {
	return map[string]http.HandlerFunc{
		"dump_priority_levels": func(w http.ResponseWriter, _ *http.Request) { writeTable(w, c.dumpLevels()) },
		"dump_queues":          func(w http.ResponseWriter, _ *http.Request) { writeTable(w, c.dumpQueues()) },
		"dump_requests": func(w http.ResponseWriter, r *http.Request) {
			writeTable(w, c.dumpRequests(r.URL.Query().Has("includeRequestDetails")))
		},
	}
}

// writeTable writes rows, the first of which is the header. Each cell except the last of a row ends with a
// comma.
func writeTable(w http.ResponseWriter, rows [][]string) {
	w.Header().Set("Content-Type", "text/plain; charset=utf-8")
	w.Header().Set("X-Content-Type-Options", "nosniff")
	t := tabwriter.NewWriter(w, 0, 0, 1, ' ', 0)
	for _, row := range rows {
		for i, cell := range row {
			if i > 0 {
				fmt.Fprint(t, ",\t")
			}
			fmt.Fprint(t, cell)
		}
		fmt.Fprintln(t)
	}
	_ = t.Flush() // fails if the client has disconnected
}

func cells(values ...any) []string {
	row := make([]string, len(values))
	for i, v := range values {
		row[i] = fmt.Sprint(v)
	}
	return row
}

func (c *Controller) dumpLevels() [][]string {
	rows := [][]string{cells("PriorityLevelName", "ActiveQueues", "IsIdle", "IsQuiescing", "WaitingRequests",
		"ExecutingRequests", "DispatchedRequests", "RejectedRequests", "TimedoutRequests", "CancelledRequests")}
	for _, l := range c.sorted() {
		rows = append(rows, l.summary())
	}
	return rows
}

func (l *level) summary() []string {
	l.mu.Lock()
	defer l.mu.Unlock()
	s := &l.stats
	return cells(l.name, l.active, l.executing == 0 && l.waiting == 0, l.quiescing, l.waiting, l.executing,
		s.dispatches, s.rejections, s.timedOut, s.cancelled)
}

func (c *Controller) dumpQueues() [][]string {
	rows := [][]string{cells("PriorityLevelName", "Index", "PendingRequests", "ExecutingRequests", "SeatsInUse",
		"NextDispatchR", "InitialSeatsSum", "MaxSeatsSum", "TotalWorkSum")}
	for _, l := range c.sorted() {
		rows = append(rows, l.queueRows()...)
	}
	return rows
}

func (l *level) queueRows() (rows [][]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.queues {
		initial, most, work := 0, 0, 0.0
		for _, t := range q.waiting {
			initial += t.seats
			most += max(t.seats, t.finalSeats)
			work += t.work()
		}
		rows = append(rows, cells(l.name, q.index, len(q.waiting), q.executing, q.seats,
			seatSeconds(q.next), initial, most, seatSeconds(work)))
	}
	return rows
}

func seatSeconds(v float64) string { return strconv.FormatFloat(v, 'f', 8, 64) + "ss" }

func (c *Controller) dumpRequests(details bool) [][]string {
	head := cells("PriorityLevelName", "FlowSchemaName", "QueueIndex", "RequestIndexInQueue", "FlowDistingsher",
		"ArriveTime", "InitialSeats", "FinalSeats", "AdditionalLatency", "StartTime")
	if details {
		head = append(head, "UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource")
	}
	rows := [][]string{head}
	for _, l := range c.sorted() {
		rows = append(rows, l.requestRows(details)...)
	}
	return rows
}

func (l *level) requestRows(details bool) (rows [][]string) {
	l.mu.Lock()
	defer l.mu.Unlock()
	for _, q := range l.backlogged {
		for i, t := range q.waiting {
			rows = append(rows, t.row(i, details))
		}
	}
	var running [][]string
	for t := l.requests; t != nil; t = t.after {
		running = append(running, t.row(-1, details))
	}
	slices.Reverse(running) // oldest first
	return append(rows, running...)
}

// row returns the cells for a request. The caller holds the level's mutex.
func (t *Ticket) row(place int, details bool) []string {
	queue := -1
	if t.queue != nil {
		queue = t.queue.index
	}
	row := cells(t.level.name, t.schema.name, queue, place, t.distinguisher, stamp(t.arrived),
		t.seats, t.finalSeats, t.extra, stamp(t.started))
	if details {
		i := t.request.Info
		path := url.URL{Path: i.Path} // escapes line feeds
		row = append(row, t.request.User.Name, i.Verb, path.EscapedPath(), i.Namespace, i.Name, i.APIVersion, i.Resource,
			i.Subresource)
	}
	return row
}

func stamp(t time.Time) string { return t.UTC().Format(time.RFC3339Nano) }
