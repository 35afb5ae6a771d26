// Package testdata starts goroutines that nobody recovers.
package testdata

import (
	"sync"

	"golang.org/x/sync/errgroup"
)

func start(f func()) {
	go f()
	var all sync.WaitGroup
	all.Go(f)
	var one errgroup.Group
	one.Go(func() error { f(); return nil })
}
