package options

import (
	"fmt"
	"io"
	"os"
	"slices"
	"strings"
	"time"

	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"triplane.dev/generic/base/egress"
	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/audit/backend"
)

// Audit configures audit logging.
type Audit struct {
	PolicyFile string
	Log        AuditLog
	Webhook    AuditWebhook
}

// AuditLog configures the audit log file.
type AuditLog struct {
	auditBackend
	// Path is the log file; "-" is standard output.
	Path     string
	Format   string
	Rotation backend.Rotation
}

// AuditWebhook configures the audit webhook.
type AuditWebhook struct {
	auditBackend
	ConfigFile     string
	InitialBackoff time.Duration
}

// auditBackend has the options that both backends share.
type auditBackend struct {
	prefix, plugin string // of flags and of messages

	Mode     string
	Version  string
	Batch    backend.BatchConfig
	Throttle bool

	Truncate                   bool
	MaxEventSize, MaxBatchSize int
}

// Modes of a backend.
const (
	auditBatch          = "batch"
	auditBlocking       = "blocking"
	auditBlockingStrict = "blocking-strict"
)

var (
	auditModes   = []string{auditBatch, auditBlocking, auditBlockingStrict}
	auditFormats = []string{backend.FormatLegacy, backend.FormatJSON}
)

// NewAudit returns the defaults.
func NewAudit() *Audit {
	common := func(plugin, mode string, c backend.BatchConfig, throttle bool) auditBackend {
		return auditBackend{prefix: "audit-" + plugin + "-", plugin: plugin, Mode: mode, Version: audit.GroupVersion,
			Batch: c, Throttle: throttle,
			MaxEventSize: 100 << 10, MaxBatchSize: 10 << 20}
	}
	return &Audit{
		Log: AuditLog{
			auditBackend: common("log", auditBlocking, backend.BatchConfig{BufferSize: 10000, MaxSize: 1, Parallel: 1},
				false),
			Format:   backend.FormatJSON,
			Rotation: backend.Rotation{MaxMegabytes: 100, MaxBackups: 100, MaxDays: 366},
		},
		Webhook: AuditWebhook{
			auditBackend: common("webhook", auditBatch, backend.BatchConfig{BufferSize: 10000, MaxSize: 400,
				MaxWait:     30 * time.Second,
				ThrottleQPS: 10, ThrottleBurst: 15, Parallel: 16}, true),
			InitialBackoff: 10 * time.Second,
		},
	}
}

// AddFlags binds the flags.
func (o *Audit) AddFlags(fs *pflag.FlagSet) {
	fs.StringVar(&o.PolicyFile, "audit-policy-file", o.PolicyFile,
		"File with the audit policy, which selects the requests to record. If blank, audit logging is disabled.")
	l, w := &o.Log, &o.Webhook
	l.addFlags(fs)
	fs.StringVar(&l.Path, "audit-log-path", l.Path,
		"File to which audit events are written; - is standard output.")
	fs.StringVar(&l.Format, "audit-log-format", l.Format,
		"The format of audit events: json writes one JSON object per line, legacy one line of text per event. "+
			"One of: "+strings.Join(auditFormats, ",")+".")
	fs.IntVar(&l.Rotation.MaxDays, "audit-log-maxage", l.Rotation.MaxDays,
		"How many days to keep rotated files, by the time in their names. 0 means no limit.")
	fs.IntVar(&l.Rotation.MaxBackups, "audit-log-maxbackup", l.Rotation.MaxBackups,
		"How many rotated files to keep. 0 means no limit.")
	fs.IntVar(&l.Rotation.MaxMegabytes, "audit-log-maxsize", l.Rotation.MaxMegabytes,
		"The size in megabytes at which the file is rotated. 0 disables rotation, so that the file may fill the "+
			"disk.")
	fs.BoolVar(&l.Rotation.Compress, "audit-log-compress", l.Rotation.Compress, "Compress rotated files with gzip.")
	w.addFlags(fs)
	fs.StringVar(&w.ConfigFile, "audit-webhook-config-file", w.ConfigFile,
		"Kubeconfig of the service to which audit events are posted.")
	fs.DurationVar(&w.InitialBackoff, "audit-webhook-initial-backoff", w.InitialBackoff,
		"How long to wait after the first failed attempt to post events; later waits are longer.")
	fs.DurationVar(&w.InitialBackoff, "audit-webhook-batch-initial-backoff", w.InitialBackoff,
		"Previous name of --audit-webhook-initial-backoff.")
	_ = fs.MarkDeprecated("audit-webhook-batch-initial-backoff",
		"Deprecated, use --audit-webhook-initial-backoff instead.")
}

func (b *auditBackend) addFlags(fs *pflag.FlagSet) {
	const batchOnly = " Only in batch mode."
	name := func(n string) string { return b.prefix + n }
	fs.StringVar(&b.Mode, name("mode"), b.Mode,
		"How events are sent: batch queues them, blocking delays responses until they are sent, blocking-strict "+
			"also rejects requests whose RequestReceived event cannot be sent. One of: "+
			strings.Join(auditModes, ",")+".")
	fs.StringVar(&b.Version, name("version"), b.Version, "The API group and version of the events.")
	fs.IntVar(&b.Batch.BufferSize, name("batch-buffer-size"), b.Batch.BufferSize,
		"How many events are queued; further events are dropped."+batchOnly)
	fs.IntVar(&b.Batch.MaxSize, name("batch-max-size"), b.Batch.MaxSize,
		"How many events a batch contains at most."+batchOnly)
	fs.DurationVar(&b.Batch.MaxWait, name("batch-max-wait"), b.Batch.MaxWait,
		"How long after its first event a partial batch is sent."+batchOnly)
	fs.BoolVar(&b.Throttle, name("batch-throttle-enable"), b.Throttle,
		"Limit the rate of batches."+batchOnly)
	fs.Float32Var(&b.Batch.ThrottleQPS, name("batch-throttle-qps"), b.Batch.ThrottleQPS,
		"How many batches are sent per second on average."+batchOnly)
	fs.IntVar(&b.Batch.ThrottleBurst, name("batch-throttle-burst"), b.Batch.ThrottleBurst,
		"How many batches may be sent at once after an idle period."+batchOnly)
	fs.BoolVar(&b.Truncate, name("truncate-enabled"), b.Truncate, "Bound the sizes of events and batches.")
	fs.IntVar(&b.MaxEventSize, name("truncate-max-event-size"), b.MaxEventSize,
		"The maximum size of an event in bytes. Larger events lose their request and response objects; events "+
			"that are still larger are dropped.")
	fs.IntVar(&b.MaxBatchSize, name("truncate-max-batch-size"), b.MaxBatchSize,
		"The most bytes of a batch, some hundreds more aside. A larger one is sent in several.")
}

// Validate returns an error for each invalid value. It ignores the options of disabled backends.
func (o *Audit) Validate() []error {
	var errs []error
	if o.Log.Path != "" {
		errs = append(o.Log.validate(), o.Log.auditBackend.validate()...)
	}
	if o.Webhook.ConfigFile != "" {
		errs = append(errs, o.Webhook.auditBackend.validate()...)
	}
	return errs
}

func (o *AuditLog) validate() []error {
	var errs []error
	for _, f := range []struct {
		flag  string
		value int
	}{
		{"maxage", o.Rotation.MaxDays}, {"maxbackup", o.Rotation.MaxBackups}, {"maxsize", o.Rotation.MaxMegabytes},
	} {
		if f.value < 0 {
			errs = append(errs, fmt.Errorf("--audit-log-%s %v can't be a negative number", f.flag, f.value))
		}
	}
	if !slices.Contains(auditFormats, o.Format) {
		errs = append(errs, fmt.Errorf("invalid audit log format %s, allowed formats are %q", o.Format,
			strings.Join(auditFormats, ",")))
	}
	return errs
}

func (b *auditBackend) validate() []error {
	var errs []error
	wrong := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	if b.Version != audit.GroupVersion {
		wrong("--%sversion: invalid group version %q, must be %s", b.prefix, b.Version, audit.GroupVersion)
	}
	if b.Truncate {
		if b.MaxEventSize <= 0 {
			wrong("invalid audit truncate %s max event size %v, must be a positive number", b.plugin, b.MaxEventSize)
		}
		if b.MaxBatchSize < b.MaxEventSize {
			wrong("invalid audit truncate %s max batch size %v, must be greater than max event size (%v)", b.plugin,
				b.MaxBatchSize, b.MaxEventSize)
		}
	}
	switch {
	case !slices.Contains(auditModes, b.Mode):
		wrong("invalid audit %s mode %s, allowed modes are %q", b.plugin, b.Mode, strings.Join(auditModes, ","))
	case b.Mode == auditBatch:
		errs = append(errs, b.validateBatch()...)
	}
	return errs
}

func (b *auditBackend) validateBatch() []error {
	var errs []error
	c := &b.Batch
	wrong := func(what string, value any) {
		errs = append(errs, fmt.Errorf("invalid audit batch %s %s %v, must be a positive number", b.plugin, what,
			value))
	}
	if c.BufferSize <= 0 {
		wrong("buffer size", c.BufferSize)
	}
	if c.MaxSize <= 0 {
		wrong("max batch size", c.MaxSize)
	}
	if b.Throttle && c.ThrottleQPS <= 0 {
		wrong("throttle QPS", c.ThrottleQPS)
	}
	if b.Throttle && c.ThrottleBurst <= 0 {
		wrong("throttle burst", c.ThrottleBurst)
	}
	return errs
}

// Build reads the policy and opens the backends. It returns nil, and audit logging is disabled, without a policy or a
// backend. e connects to the webhook; it may be nil. also are additional backends.
func (o *Audit) Build(m *audit.Metrics, e *egress.Selector, also ...audit.Backend) (*audit.Auditor, error) {
	if o.PolicyFile == "" {
		if o.Log.Path != "" || o.Webhook.ConfigFile != "" {
			klog.InfoS("Disabled audit logging: no --audit-policy-file")
		}
		return nil, nil
	}
	policy, err := audit.LoadPolicy(o.PolicyFile)
	if err != nil {
		return nil, fmt.Errorf("--audit-policy-file: %w", err)
	}
	backends, err := o.open(m, e)
	if err != nil {
		return nil, err
	}
	backends = append(backends, also...)
	if len(backends) == 0 {
		klog.InfoS("Disabled audit logging: --audit-policy-file is set without --audit-log-path or " +
			"--audit-webhook-config-file")
		return nil, nil
	}
	return audit.New(policy, backends, m), nil
}

func (o *Audit) open(m *audit.Metrics, e *egress.Selector) (backend.Union, error) {
	var all backend.Union
	if f := o.Webhook.ConfigFile; f != "" {
		w, err := backend.NewWebhook(f, e.DialControlPlane, o.Webhook.InitialBackoff, m)
		if err != nil {
			return nil, fmt.Errorf("--audit-webhook-config-file: %w", err)
		}
		all = append(all, o.Webhook.wrap(w, m))
	}
	if o.Log.Path != "" {
		out, err := o.Log.open()
		if err != nil {
			return nil, fmt.Errorf("--audit-log-path: %w", err)
		}
		all = append(all, o.Log.wrap(backend.NewLog(out, o.Log.Format, m), m))
	}
	return all, nil
}

func (o *AuditLog) open() (io.WriteCloser, error) {
	if o.Path == "-" {
		return nopCloser{os.Stdout}, nil
	}
	return backend.OpenFile(o.Path, o.Rotation)
}

// nopCloser is a writer that must stay open.
type nopCloser struct{ io.Writer }

func (nopCloser) Close() error { return nil }

// wrap wraps a backend according to the mode, and that in truncation, so that queued events are small.
func (b *auditBackend) wrap(next audit.Backend, m *audit.Metrics) audit.Backend {
	switch b.Mode {
	case auditBatch:
		c := b.Batch
		if !b.Throttle {
			c.ThrottleQPS = 0
		}
		next = backend.NewBatch(next, c, m)
	case auditBlocking:
		next = backend.IgnoreErrors{Backend: next}
	}
	if b.Truncate {
		next = backend.NewTruncate(next, b.MaxEventSize, b.MaxBatchSize, m)
	}
	return next
}
