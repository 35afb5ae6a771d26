package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"

	"go.etcd.io/etcd/server/v3/etcdmain"

	"triplane/cmd/triplane/app"
	"triplane/cmd/triplane/assets"
	"triplane/generic/host"
)

func main() {
	if err := run(os.Args[0], os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "triplane: %v\n", err)
		os.Exit(1)
	}
}

// run does what the name of the program and its arguments ask for.
func run(program string, args []string) error {
	switch name, rest := command(program, args); name {
	case "etcd":
		etcdmain.Main(append([]string{name}, rest...)) // ends the process
		return nil
	case "envtest-assets":
		if len(rest) != 1 {
			return errors.New("envtest-assets takes one argument, the directory to make")
		}
		return assets.Write(rest[0], os.Stdout)
	case "console":
		return host.UntilSignal(func(ctx context.Context) error { return app.OpenConsole(ctx, rest, os.Stdout) })
	case "status":
		return host.UntilSignal(func(ctx context.Context) error { return app.Status(ctx, rest, os.Stdout) })
	case "kubeconfig":
		return app.WriteKubeconfig(rest, os.Stdout)
	case "keys":
		return app.SharedKeys(rest, os.Stdout)
	case "export":
		return host.UntilSignal(func(ctx context.Context) error { return app.Export(ctx, rest, os.Stdout, os.Stderr) })
	case "import":
		return host.UntilSignal(func(ctx context.Context) error { return app.Import(ctx, rest, os.Stdin, os.Stdout, os.Stderr) })
	case "member":
		return host.UntilSignal(func(ctx context.Context) error { return app.Members(ctx, rest, os.Stdout) })
	case "snapshot":
		return host.UntilSignal(func(ctx context.Context) error { return app.Snapshot(ctx, rest, os.Stdout) })
	}
	return serve(args)
}

// commands are the first arguments that ask for something else than to serve.
var commands = []string{"console", "envtest-assets", "etcd", "export", "import", "keys", "kubeconfig", "member", "snapshot", "status"}

// command is which of the commands is asked for, with its arguments; "" is none of
// them. A program that is installed as etcd is that.
func command(program string, args []string) (name string, rest []string) {
	if filepath.Base(program) == "etcd" {
		return "etcd", args
	}
	if len(args) > 0 && slices.Contains(commands, args[0]) {
		return args[0], args[1:]
	}
	return "", args
}

// serve runs the API server until the first signal; the second ends the process at
// once.
func serve(args []string) error {
	options, err := app.Parse(args, os.Stdout)
	if err != nil || options == nil {
		return err
	}
	if err := options.ApplyLogging(); err != nil {
		return err
	}
	return host.UntilSignal(func(ctx context.Context) error { return app.Run(ctx, options) })
}
