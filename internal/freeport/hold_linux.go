package freeport

import "golang.org/x/sys/unix"

// hold binds a socket to a free port and leaves it open. It does not listen: with SO_REUSEADDR, which listeners of Go and
// most servers set, another socket may be bound to the same port and listen (socket(7)), but the kernel does not choose a
// port to which a socket is bound.
func hold() (port int, err error) {
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM|unix.SOCK_CLOEXEC, 0)
	if err != nil {
		return 0, err
	}
	if port, err = bind(fd); err != nil {
		_ = unix.Close(fd) // was not used
	}
	return port, err
}

func bind(fd int) (port int, err error) {
	if err := unix.SetsockoptInt(fd, unix.SOL_SOCKET, unix.SO_REUSEADDR, 1); err != nil {
		return 0, err
	}
	if err := unix.Bind(fd, &unix.SockaddrInet4{Addr: [4]byte{127, 0, 0, 1}}); err != nil {
		return 0, err
	}
	address, err := unix.Getsockname(fd)
	if err != nil {
		return 0, err
	}
	return address.(*unix.SockaddrInet4).Port, nil
}
