package main

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"text/tabwriter"

	"github.com/spf13/pflag"

	"triplane.dev/generic/serve/filters"
	"triplane.dev/generic/storage/embedded"
)

const memberUsage = `Lists and removes members of the embedded etcd's cluster of a running server.

Usage:
  triplane member list [flags]
  triplane member remove NAME|ID [flags]    the other members keep the data; its server stops

A member is added by starting a server with --join.
`

// members implements the command member.
func members(ctx context.Context, args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("member", pflag.ContinueOnError)
	var flags remoteFlags
	flags.add(fs)
	if help, err := parse(fs, memberUsage, args, out); help || err != nil {
		return err
	}
	method, path := http.MethodGet, filters.MembersPath
	switch {
	case fs.NArg() == 1 && fs.Arg(0) == "list":
	case fs.NArg() == 2 && fs.Arg(0) == "remove":
		method, path = http.MethodDelete, path+"?"+url.Values{"member": {fs.Arg(1)}}.Encode()
	default:
		return errors.New("member takes list, or remove and a name; see triplane member --help")
	}
	server, err := flags.connect()
	if err != nil {
		return err
	}
	body, err := server.Send(ctx, method, path, nil)
	if err != nil {
		return err
	}
	defer body.Close()
	var members []embedded.Member
	if err := json.NewDecoder(body).Decode(&members); err != nil {
		return err
	}
	return printMembers(members, out)
}

func printMembers(members []embedded.Member, out io.Writer) error {
	table := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	_, _ = fmt.Fprintln(table, "NAME\tID\tPEER URL\tROLE") // Flush reports what failed
	led := false
	for _, m := range members {
		role := "follower"
		switch {
		case m.Leader:
			role, led = "leader", true
		case m.Learner:
			role = "learner, which does not vote yet"
		}
		_, _ = fmt.Fprintf(table, "%s\t%s\t%s\t%s\n", cmp.Or(m.Name, "-"), m.ID, cmp.Or(m.URL, "-"), role)
	}
	if !led {
		_, _ = fmt.Fprintln(table, "no leader: a majority of the members is not connected")
	}
	return table.Flush()
}
