//go:build unix

package server

import (
	"math"
	"net"

	"golang.org/x/net/netutil"
	"golang.org/x/sys/unix"
)

// connectionsShare is the fraction of the file descriptors that client connections may use.
const connectionsShare = 0.75

// reserveDescriptors makes a listener stop accepting connections while the open ones use their share of the
// process's file descriptors. The rest is for storage, whose log needs new files, and for outgoing connections.
// Every client that reaches the server can open connections.
func reserveDescriptors(l net.Listener) net.Listener {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return l // no relevant limit
	}
	return netutil.LimitListener(l, max(1, int(float64(limit.Cur)*connectionsShare)))
}
