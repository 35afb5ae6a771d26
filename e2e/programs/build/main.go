// Command build builds the programs that the end-to-end tests run, or those that are named, and
// prints a line for each.
package main

import (
	"fmt"
	"os"
	"time"

	"triplane.dev/e2e/programs"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "build:", err)
		os.Exit(1)
	}
}

func run(names []string) error {
	if err := os.Unsetenv(programs.Built); err != nil {
		return err
	}
	found, err := programs.Named(names)
	if err != nil {
		return err
	}
	for _, p := range found {
		fmt.Printf("   %-26s", p.Name)
		began := time.Now()
		if _, err := p.Path(); err != nil {
			fmt.Println()
			return err
		}
		fmt.Printf("%4ds\n", int(time.Since(began).Seconds()))
	}
	return nil
}
