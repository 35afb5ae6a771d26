package backend

import (
	"context"
	"fmt"
	"io"
	"strconv"
	"strings"
	"sync"
	"time"

	"triplane.dev/generic/guard/audit"
)

// Formats of the log.
const (
	FormatJSON   = "json"
	FormatLegacy = "legacy"
)

// Log writes one line for each event.
type Log struct {
	format string
	failures

	mu  sync.Mutex
	out io.WriteCloser
}

// NewLog returns a log in FormatJSON or FormatLegacy. Close closes out.
func NewLog(out io.WriteCloser, format string, m *audit.Metrics) *Log {
	return &Log{format: format, failures: newFailures(pluginLog, m), out: out}
}

// Process implements audit.Backend. It returns after the events are written.
func (l *Log) Process(events ...*audit.Event) bool {
	stored := true
	for _, e := range events {
		if err := l.write(e); err != nil {
			l.failed(err, 1)
			stored = false
		}
	}
	return stored
}

func (l *Log) write(e *audit.Event) error {
	var line []byte
	if l.format == FormatLegacy {
		line = legacyLine(e)
	} else {
		var err error
		if line, err = e.Encode(); err != nil {
			return err
		}
	}
	line = append(line, '\n')
	l.mu.Lock()
	defer l.mu.Unlock()
	_, err := l.out.Write(line)
	return err
}

// Close implements audit.Backend.
func (l *Log) Close(context.Context) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if err := l.out.Close(); err != nil {
		l.failed(fmt.Errorf("closing: %w", err), 0)
	}
}

// legacyLine returns an event in the text format that preceded JSON.
func legacyLine(e *audit.Event) []byte {
	ip, user, groups, as, asGroups, namespace, response := "<unknown>", "<none>", "<none>", "<self>", "<lookup>", "<none>",
		"<deferred>"
	if len(e.SourceIPs) > 0 {
		ip = e.SourceIPs[0]
	}
	if e.User.Username != "" {
		user = e.User.Username
	}
	if len(e.User.Groups) > 0 {
		groups = quoteList(e.User.Groups)
	}
	if u := e.ImpersonatedUser; u != nil {
		as = u.Username
		if len(u.Groups) > 0 {
			asGroups = quoteList(u.Groups)
		}
	}
	if e.ObjectRef != nil && e.ObjectRef.Namespace != "" {
		namespace = e.ObjectRef.Namespace
	}
	if e.ResponseStatus != nil {
		response = strconv.Itoa(int(e.ResponseStatus.Code))
	}
	return fmt.Appendf(nil,
		"%s AUDIT: id=%q stage=%q ip=%q method=%q user=%q groups=%q as=%q asgroups=%q user-agent=%q namespace=%q uri=%q response=%q",
		e.RequestReceivedTimestamp.Format(time.RFC3339Nano), e.AuditID, e.Stage, ip, e.Verb, user, groups, as, asGroups,
		e.UserAgent, namespace, e.RequestURI, response)
}

func quoteList(list []string) string {
	quoted := make([]string, len(list))
	for i, s := range list {
		quoted[i] = strconv.Quote(s)
	}
	return strings.Join(quoted, ",")
}
