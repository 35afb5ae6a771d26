package host

import (
	"context"
	"os"
	"os/signal"
	"syscall"

	"triplane.dev/internal/worker"
)

// UntilSignal runs a program until the first termination signal, which cancels its context, and tunes the memory
// of the process. The second signal exits at once.
func UntilSignal(run func(context.Context) error) error {
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	signals := make(chan os.Signal, 2)
	signal.Notify(signals, syscall.SIGINT, syscall.SIGTERM)
	worker.Go(func() {
		<-signals
		cancel()
		<-signals
		os.Exit(1)
	})
	worker.Go(func() { TuneMemory(ctx) })
	return run(ctx)
}
