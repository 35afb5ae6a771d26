//go:build unix

package server

import (
	"math"
	"net"

	"golang.org/x/net/netutil"
	"golang.org/x/sys/unix"
)

// connectionsShare is the part of the file descriptors that connections of clients may have.
const connectionsShare = 0.75

// leaveDescriptors has a listener accept no more connections while those that are open have their
// share of the process's file descriptors. The rest is for the store, whose log needs new files, and
// for connections to others: whoever can reach the server can open connections.
func leaveDescriptors(l net.Listener) net.Listener {
	var limit unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &limit); err != nil || limit.Cur > math.MaxInt32 {
		return l // there is no limit to speak of
	}
	return netutil.LimitListener(l, max(1, int(float64(limit.Cur)*connectionsShare)))
}
