package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"triplane.dev"
	"triplane.dev/cmd/triplane/assets"
	"triplane.dev/generic/run/host"
)

func main() {
	if err := run(os.Args[0], os.Args[1:]); err != nil {
		fmt.Fprintf(os.Stderr, "triplane: %v\n", err)
		os.Exit(1)
	}
}

// run runs the command that the program's name and its arguments select.
func run(program string, args []string) error {
	name, rest := command(program, args)
	if name == helpCommand {
		return help(rest)
	}
	if run := commands[name]; run != nil {
		return run(rest)
	}
	return serve(args)
}

const (
	// helpCommand is not one of commands, which it reads.
	helpCommand = "help"
	// etcdCommand is also a name of the program.
	etcdCommand = "etcd"
	// keepRemoved is kube-apiserver's name of the variable that serves removed versions for another release.
	keepRemoved = "KUBE_APISERVER_SERVE_REMOVED_APIS_FOR_ONE_RELEASE"
)

// commands are the first arguments that select another function than serving.
var commands = map[string]func(args []string) error{
	etcdCommand:      untilSignal(runEtcd),
	"version":        printVersion,
	"envtest-assets": envtestAssets,
	"kubeconfig":     func(args []string) error { return writeKubeconfig(args, os.Stdout) },
	"keys":           untilSignal(makeKeys),
	"test":           runTest,
	"console":        untilSignal(openConsole),
	"status":         untilSignal(showStatus),
	"member":         untilSignal(members),
	"snapshot":       untilSignal(snapshot),
	"workspace":      untilSignal(manageWorkspaces),
	"store":          untilSignal(store),
	"export": untilSignal(func(ctx context.Context, args []string, out io.Writer) error {
		return exportObjects(ctx, args, out, os.Stderr)
	}),
	"import": untilSignal(func(ctx context.Context, args []string, out io.Writer) error {
		return importObjects(ctx, args, os.Stdin, out, os.Stderr)
	}),
}

// printVersion prints the version, as --version does.
func printVersion(args []string) error {
	if len(args) > 0 {
		return fmt.Errorf("version takes no argument, but got %q", args[0])
	}
	return serve([]string{"--version"})
}

// help prints the help of the server or of a command.
func help(args []string) error {
	switch {
	case len(args) == 0:
		return serve([]string{"--help"})
	case len(args) > 1:
		return fmt.Errorf("help takes one command, but got %q", args)
	case commands[args[0]] == nil:
		return fmt.Errorf("%q is not a command; see triplane help", args[0])
	}
	return commands[args[0]]([]string{"--help"})
}

// untilSignal returns a command whose context is done after the first signal; it writes to standard output.
func untilSignal(run func(ctx context.Context, args []string, out io.Writer) error) func([]string) error {
	return func(args []string) error {
		return host.UntilSignal(func(ctx context.Context) error { return run(ctx, args, os.Stdout) })
	}
}

// envtestAssets writes the directory of programs for envtest. Arguments after it are default flags of its servers.
func envtestAssets(args []string) error {
	if len(args) == 1 && (args[0] == "--help" || args[0] == "-h") {
		_, err := fmt.Println("envtest-assets takes the directory to make, and then default flags of its servers; " +
			"see docs/testing.md")
		return err
	}
	if len(args) == 0 || strings.HasPrefix(args[0], "-") {
		return errors.New("envtest-assets takes the directory to make, and then default flags of its servers")
	}
	if _, err := triplane.Parse("", args[1:], io.Discard); err != nil {
		return err
	}
	return assets.Write(args[0], args[1:], os.Stdout)
}

// command returns the selected command, "" for none, and its arguments. A program with the name etcd is an etcd.
func command(program string, args []string) (name string, rest []string) {
	if filepath.Base(program) == etcdCommand {
		return etcdCommand, args
	}
	if len(args) > 0 && (commands[args[0]] != nil || args[0] == helpCommand) {
		return args[0], args[1:]
	}
	return "", args
}

// serve runs the API server until the first signal; the second exits at once.
func serve(args []string) error {
	args, err := assets.Arguments(args)
	if err != nil {
		return err
	}
	options, err := triplane.Parse(usage, args, os.Stdout)
	if err != nil || options == nil {
		return err
	}
	if keep := os.Getenv(keepRemoved); keep != "" {
		if options.Compatibility.KeepRemoved, err = strconv.ParseBool(keep); err != nil {
			return fmt.Errorf("%s: %w", keepRemoved, err)
		}
	}
	if err := options.ApplyLogging(); err != nil {
		return err
	}
	return host.UntilSignal(func(ctx context.Context) error { return triplane.Run(ctx, options) })
}
