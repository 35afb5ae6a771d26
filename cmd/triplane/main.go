package main

import (
	"context"
	"fmt"
	"os"
	"os/signal"
	"syscall"

	"triplane/cmd/triplane/app"
	"triplane/internal/worker"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "triplane: %v\n", err)
		os.Exit(1)
	}
}

// run serves until the first signal; the second ends the process at once.
func run(args []string) error {
	options, err := app.Parse(args, os.Stdout)
	if err != nil || options == nil {
		return err
	}
	if err := options.ApplyLogging(); err != nil {
		return err
	}
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
	worker.Go(func() { tuneMemory(ctx) })
	return app.Run(ctx, options)
}
