package backend

import (
	"context"
	"time"

	"triplane.dev/generic/guard/audit"
	"triplane.dev/generic/guard/authentication/webhook"
)

// Webhook posts events, as an EventList, to a service.
type Webhook struct {
	caller *webhook.Caller
	pause  time.Duration
	failures

	ctx    context.Context //nolint:containedctx // ends with Close
	cancel context.CancelFunc
}

// NewWebhook returns a backend that posts to the server of a kubeconfig file. A nil dial connects directly.
// pause is the delay before the first retry.
func NewWebhook(kubeconfig string, dial webhook.Dial, pause time.Duration, m *audit.Metrics) (*Webhook, error) {
	caller, err := webhook.NewCaller(kubeconfig, dial)
	if err != nil {
		return nil, err
	}
	w := &Webhook{caller: caller, pause: pause, failures: newFailures(pluginWebhook, m)}
	w.ctx, w.cancel = context.WithCancel(context.Background())
	return w, nil
}

// Process implements audit.Backend. It returns after the service has accepted the events, or all attempts have
// failed.
func (w *Webhook) Process(events ...*audit.Event) bool {
	body, err := audit.EncodeList(events)
	if err == nil {
		err = w.caller.Send(w.ctx, body, w.pause)
	}
	if err != nil {
		w.failed(err, len(events))
	}
	return err == nil
}

// Close implements audit.Backend. It cancels requests that are being sent.
func (w *Webhook) Close(context.Context) {
	w.cancel()
	w.caller.Close()
}
