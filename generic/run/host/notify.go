package host

import (
	"context"

	"github.com/coreos/go-systemd/v22/daemon"
	"k8s.io/klog/v2"
)

// NotifyReady says to systemd (a unit of Type=notify) that the server is ready, and, when ctx
// ends, that it stops. Without NOTIFY_SOCKET in the environment it does nothing.
func NotifyReady(ctx context.Context) {
	notify(daemon.SdNotifyReady)
	context.AfterFunc(ctx, func() { notify(daemon.SdNotifyStopping) })
}

func notify(state string) {
	if _, err := daemon.SdNotify(false, state); err != nil {
		klog.InfoS("systemd could not be notified", "state", state, "err", err)
	}
}
