package host

import (
	"context"

	"github.com/coreos/go-systemd/v22/daemon"
	"k8s.io/klog/v2"
)

// NotifyReady reports to systemd (Type=notify) that the server is ready, and, when ctx is done, that it stops.
// Without NOTIFY_SOCKET it does nothing.
func NotifyReady(ctx context.Context) {
	notify(daemon.SdNotifyReady)
	context.AfterFunc(ctx, func() { notify(daemon.SdNotifyStopping) })
}

func notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		klog.InfoS("Failed to notify systemd", "state", state, "err", err)
	}
}
