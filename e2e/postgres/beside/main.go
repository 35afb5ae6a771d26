//go:build unix

// Command beside runs a command beside an empty PostgreSQL database, whose URL is the environment variable STORE:
//
//	go run ./e2e/postgres/beside e2e/parity.sh -require "$PWD/e2e/parity-passing.txt"
//
// Its exit code is that of the command. Where there is no PostgreSQL it says so and does not run the command.
package main

import (
	"errors"
	"fmt"
	"os"
	"os/exec"

	"triplane.dev/generic/storage/postgres/postgrestest"
)

func main() {
	err := run(os.Args[1:])
	var ended *exec.ExitError
	switch {
	case errors.As(err, &ended):
		os.Exit(max(1, ended.ExitCode())) // it has said why
	case errors.Is(err, postgrestest.ErrMissing):
		fmt.Fprintln(os.Stderr, "SKIPPED:", err)
	case err != nil:
		fmt.Fprintln(os.Stderr, "beside:", err)
		os.Exit(1)
	}
}

func run(args []string) (err error) {
	if len(args) == 0 {
		return errors.New("there is no command")
	}
	server, err := postgrestest.New()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, server.Close()) }()
	url, err := server.Database()
	if err != nil {
		return err
	}
	cmd := exec.Command(args[0], args[1:]...)
	cmd.Stdin, cmd.Stdout, cmd.Stderr = os.Stdin, os.Stdout, os.Stderr
	cmd.Env = append(os.Environ(), "STORE="+url)
	return cmd.Run()
}
