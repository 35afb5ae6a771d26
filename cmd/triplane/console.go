package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"net/url"
	"os/exec"
	"runtime"
	"time"

	"github.com/spf13/pflag"

	"triplane.dev/console"
	"triplane.dev/internal/adminclient"
	"triplane.dev/internal/worker"
)

const consoleUsage = `Opens the console of a running server, logged in as the user of a kubeconfig.

Usage:
  triplane console [flags]

The link contains a token for that user in its fragment, which browsers do not send to servers.
The token has the user's permissions. It is valid for an hour, or until the server stops.
`

// requestTimeout bounds a request of a command.
const requestTimeout = 30 * time.Second

// openConsole implements the command console.
func openConsole(ctx context.Context, args []string, out io.Writer) error {
	fs := pflag.NewFlagSet("console", pflag.ContinueOnError)
	var flags remoteFlags
	flags.add(fs)
	noBrowser := fs.Bool("no-browser", false, "Only print the link.")
	if help, err := parse(fs, consoleUsage, args, out); help || err != nil {
		return err
	}
	if err := noArguments(fs); err != nil {
		return err
	}
	server, err := flags.connect()
	if err != nil {
		return err
	}
	token, err := pageToken(ctx, server)
	if err != nil {
		return err
	}
	link := *server.Base.JoinPath(console.Path)
	address := link.String() + "#token=" + url.QueryEscape(token.Token)
	if _, err := fmt.Fprintf(out, "%s\nvalid until %s; the link contains a token, keep it secret\n", address,
		token.ExpirationTimestamp.Local().Format(time.TimeOnly)); err != nil {
		return err
	}
	if !*noBrowser {
		openBrowser(ctx, address)
	}
	return nil
}

func pageToken(ctx context.Context, server *adminclient.Client) (*console.Token, error) {
	body, err := server.Send(ctx, http.MethodPost, console.TokenPath, nil)
	if adminclient.HasCode(err, http.StatusNotFound) {
		return nil, errors.New("the console of the server is disabled: start it with --console")
	}
	if err != nil {
		return nil, err
	}
	defer body.Close()
	var token console.Token
	return &token, json.NewDecoder(body).Decode(&token)
}

// browsers are the commands that open a link, by operating system.
var browsers = map[string][]string{"linux": {"xdg-open"}, "darwin": {"open"},
	"windows": {"rundll32", "url.dll,FileProtocolHandler"}}

// openBrowser opens a browser, if it finds one. It reports no errors, because the link is printed as well.
func openBrowser(ctx context.Context, address string) {
	words := browsers[runtime.GOOS]
	if len(words) == 0 {
		return
	}
	path, err := exec.LookPath(words[0])
	if err != nil {
		return
	}
	cmd := exec.CommandContext(ctx, path, append(words[1:], address)...)
	if cmd.Start() == nil {
		worker.Go(func() { _ = cmd.Wait() }) // errors do not matter, the link is printed
	}
}
