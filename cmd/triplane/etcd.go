package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"net/http"
	"net/url"
	"slices"
	"time"

	"github.com/soheilhy/cmux"
	"github.com/spf13/pflag"
	"k8s.io/klog/v2"

	"triplane.dev/generic/storage/embedded"
	"triplane.dev/internal/worker"
)

const etcdUsage = `Runs an etcd of one member without TLS, for tests: it is the program etcd in the layout of envtest.
The flags have etcd's names and defaults. The program of etcd itself has the others, and can open the directory.

It serves etcd's client API, and /health, /livez, /readyz, /version and /metrics.

Usage:
  triplane etcd [flags]
`

// etcdFlags are the flags of the command etcd.
type etcdFlags struct {
	listen, advertise []string
	config            embedded.Config
}

func (f *etcdFlags) flagSet() *pflag.FlagSet {
	fs := pflag.NewFlagSet("etcd", pflag.ContinueOnError)
	const client = "http://localhost:2379"
	fs.StringVar(&f.config.Dir, "data-dir", "default.etcd", "The data directory. It is created if it does not exist.")
	fs.StringSliceVar(&f.listen, "listen-client-urls", []string{client}, "URLs to listen on for clients, with http.")
	fs.StringSliceVar(&f.advertise, "advertise-client-urls", []string{client},
		"URLs that the list of members has for clients.")
	fs.StringSlice("listen-peer-urls", nil,
		"Accepted because envtest sets it. A single member has no peers, so it does not listen for them.")
	fs.Int64Var(&f.config.QuotaBytes, "quota-backend-bytes", embedded.DefaultQuotaBytes,
		"Limit of the used bytes of the database file.")
	fs.BoolVar(&f.config.UnsafeNoFsync, "unsafe-no-fsync", false,
		"Do not sync writes to disk. A crash of the machine may lose or damage the data.")
	return fs
}

// runEtcd implements the command etcd.
func runEtcd(ctx context.Context, args []string, out io.Writer) error {
	var f etcdFlags
	flags := f.flagSet()
	if help, err := parse(flags, etcdUsage, twoDashes(args), out); help || err != nil {
		return err
	}
	if err := noArguments(flags); err != nil {
		return err
	}
	var err error
	if f.config.ClientURLs, err = clientURLs(f.advertise); err != nil {
		return fmt.Errorf("--advertise-client-urls: %w", err)
	}
	listeners, err := listenAll(ctx, f.listen)
	if err != nil {
		return fmt.Errorf("--listen-client-urls: %w", err)
	}
	server, err := embedded.Start(ctx, f.config)
	if err != nil {
		return errors.Join(err, closeAll(listeners))
	}
	var all worker.Group
	for _, l := range listeners {
		all.Go(func() { serveEtcd(server, l) })
	}
	all.Go(func() { server.Backend().RunCompactor(ctx, 0) }) // only API servers compact
	select {
	case <-ctx.Done():
	case <-server.Done():
		err = server.Err()
	}
	err = errors.Join(err, server.Close(), closeAll(listeners))
	if ctx.Err() != nil {
		all.Wait()
	}
	return err
}

// twoDashes returns arguments whose flags begin with two dashes: etcd takes one as well.
func twoDashes(args []string) []string {
	long := slices.Clone(args)
	for i, arg := range long {
		if len(arg) > 2 && arg[0] == '-' && arg[1] != '-' {
			long[i] = "-" + arg
		}
	}
	return long
}

// clientURLs parses URLs of clients.
func clientURLs(texts []string) ([]url.URL, error) {
	var urls []url.URL
	for _, text := range texts {
		u, err := url.Parse(text)
		if err != nil {
			return nil, err
		}
		if u.Scheme != "http" || u.Port() == "" {
			return nil, fmt.Errorf("%q is not such as http://localhost:2379", text)
		}
		urls = append(urls, *u)
	}
	return urls, nil
}

// listenAll listens on URLs.
func listenAll(ctx context.Context, texts []string) (listeners []net.Listener, err error) {
	urls, err := clientURLs(texts)
	if err != nil {
		return nil, err
	}
	for _, u := range urls {
		l, err := (&net.ListenConfig{}).Listen(ctx, "tcp", u.Host)
		if err != nil {
			return nil, errors.Join(err, closeAll(listeners))
		}
		listeners = append(listeners, l)
	}
	return listeners, nil
}

func closeAll(listeners []net.Listener) (err error) {
	for _, l := range listeners {
		if closeErr := l.Close(); !errors.Is(closeErr, net.ErrClosed) {
			err = errors.Join(err, closeErr)
		}
	}
	return err
}

// etcdHandshake bounds the time until a connection has shown its protocol, and its request.
const etcdHandshake = 10 * time.Second

// serveEtcd serves gRPC and other requests on a listener, until it is closed.
func serveEtcd(server *embedded.Server, l net.Listener) {
	protocols := cmux.New(l)
	protocols.SetReadTimeout(etcdHandshake)
	server.Serve(protocols.Match(cmux.HTTP2()), nil)
	web := &http.Server{Handler: server.Handler(), ReadHeaderTimeout: etcdHandshake}
	others := protocols.Match(cmux.Any())
	worker.Go(func() { _ = web.Serve(others) }) // ends with the listener
	klog.InfoS("Serving etcd's client API", "address", l.Addr().String())
	_ = protocols.Serve() // ends with the listener
	_ = web.Close()
}
