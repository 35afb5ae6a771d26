// Command kine serves etcd's API on SQLite or PostgreSQL, for the end-to-end tests: it is
// github.com/k3s-io/kine without the stores that nobody tests here.
//
//	kine --listen-address 127.0.0.1:2379 --endpoint sqlite://FILE
package main

import (
	"context"
	"flag"
	"log"
	"net"
	"os/signal"
	"sync"
	"syscall"
	"time"

	"github.com/k3s-io/kine/pkg/drivers"
	"github.com/k3s-io/kine/pkg/drivers/generic"
	_ "github.com/k3s-io/kine/pkg/drivers/pgsql"
	_ "github.com/k3s-io/kine/pkg/drivers/sqlite"
	"github.com/k3s-io/kine/pkg/server"
	"google.golang.org/grpc"
)

func main() {
	address := flag.String("listen-address", "127.0.0.1:2379", "where to listen")
	endpoint := flag.String("endpoint", "", "sqlite://FILE or postgres://…")
	compact := flag.Duration("compact-interval", 5*time.Minute, "how often old revisions are dropped")
	retain := flag.Int64("compact-min-retain", 1000, "how many revisions are kept then")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), syscall.SIGINT, syscall.SIGTERM)
	defer stop()
	if err := serve(ctx, *address, drivers.Config{
		Endpoint:             *endpoint,
		ConnectionPoolConfig: generic.ConnectionPoolConfig{MaxIdle: 2, MaxOpen: 5},
		CompactInterval:      *compact, CompactTimeout: 5 * time.Second,
		CompactMinRetain: *retain, CompactBatchSize: 1000, PollBatchSize: 500,
	}); err != nil {
		log.Fatal(err)
	}
}

func serve(ctx context.Context, address string, config drivers.Config) error {
	var running sync.WaitGroup
	_, backend, err := drivers.New(ctx, &running, &config)
	if err != nil {
		return err
	}
	if err := backend.Start(ctx); err != nil {
		return err
	}
	listener, err := (&net.ListenConfig{}).Listen(ctx, "tcp", address)
	if err != nil {
		return err
	}
	grpcServer := grpc.NewServer()
	server.New(backend, "http", 5*time.Second, "3.5.13").Register(grpcServer)
	running.Add(1)
	go func() {
		defer running.Done()
		<-ctx.Done()
		grpcServer.Stop()
	}()
	err = grpcServer.Serve(listener)
	running.Wait()
	return err
}
