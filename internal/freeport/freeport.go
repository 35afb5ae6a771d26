// Package freeport chooses ports for servers of tests that listen on them later. A port that the kernel chooses for a
// listener that is closed at once can belong to a client or another test before the server listens.
package freeport

import (
	"errors"
	"io"
	"math/rand/v2"
	"net"
	"strconv"
	"sync"
)

// The range is below the ports that kernels choose themselves, and below node ports.
const first, count = 20000, 10000

// Take returns a port of 127.0.0.1 on which no process listens. No process that calls Take gets the same port before
// this process ends.
func Take() (int, error) {
	from := rand.IntN(count)
	for i := range count {
		port := first + (from+i)%count
		if reserve(port) {
			return port, nil
		}
	}
	return 0, errors.New("no port is free")
}

// reserved has the open reservations: the kernel would close a socket to which nothing refers.
var reserved struct {
	sync.Mutex
	sockets []io.Closer
}

// reserve reports whether the port is this process's now. The reservation is the UDP port of the same number,
// which the servers do not use.
func reserve(port int) bool {
	address := net.JoinHostPort("127.0.0.1", strconv.Itoa(port))
	reservation, err := net.ListenPacket("udp", address)
	if err != nil {
		return false
	}
	l, err := net.Listen("tcp", address)
	if err != nil {
		_ = reservation.Close() // was not used
		return false
	}
	_ = l.Close() // has no connection
	reserved.Lock()
	defer reserved.Unlock()
	reserved.sockets = append(reserved.sockets, reservation)
	return true
}
