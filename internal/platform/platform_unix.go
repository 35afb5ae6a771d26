//go:build unix

package platform

import (
	"errors"
	"math"
	"os"
	"runtime"
	"syscall"

	"golang.org/x/sys/unix"
)

// HasOwners reports whether files have owners and mode bits for their group and other users.
const HasOwners = true

// Owner returns the user id of a file's owner.
func Owner(info os.FileInfo) (uid int, ok bool) {
	stat, ok := info.Sys().(*syscall.Stat_t)
	if !ok {
		return 0, false
	}
	return int(stat.Uid), true
}

// TryLock locks a file until it is closed. It returns ErrLocked if another process has locked it.
func TryLock(f *os.File) error {
	err := unix.Flock(int(f.Fd()), unix.LOCK_EX|unix.LOCK_NB)
	if errors.Is(err, unix.EWOULDBLOCK) {
		return ErrLocked
	}
	return err
}

// FreeSpace returns the bytes that this user can write to the file system of a directory.
func FreeSpace(dir string) (uint64, error) {
	var fs unix.Statfs_t
	if err := unix.Statfs(dir, &fs); err != nil {
		return 0, err
	}
	return fs.Bavail * uint64(fs.Bsize), nil
}

// Map maps size bytes of a file for reading, until unmap is called.
func Map(f *os.File, size int) (content []byte, unmap func() error, err error) {
	content, err = unix.Mmap(int(f.Fd()), 0, size, unix.PROT_READ, unix.MAP_SHARED)
	return content, func() error { return unix.Munmap(content) }, err
}

// Sync writes a file, or the names in a directory, to the disk.
func Sync(path string) error {
	f, err := os.Open(path)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// FileLimit returns how many files and sockets this process can open; ok is false without a relevant limit.
func FileLimit() (limit int, ok bool) {
	var l unix.Rlimit
	if err := unix.Getrlimit(unix.RLIMIT_NOFILE, &l); err != nil || l.Cur > math.MaxInt32 {
		return 0, false
	}
	return int(l.Cur), true
}

// ReusePort allows several processes to listen on a port (port), or to bind while connections of a previous
// process linger, or in addition to a wildcard address (address).
func ReusePort(port, address bool) SocketControl {
	if !port && !address {
		return nil
	}
	return func(_, _ string, c syscall.RawConn) error {
		var set error
		err := c.Control(func(fd uintptr) {
			if address {
				set = errors.Join(set, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEADDR, 1))
			}
			if port {
				set = errors.Join(set, unix.SetsockoptInt(int(fd), unix.SOL_SOCKET, unix.SO_REUSEPORT, 1))
			}
		})
		return errors.Join(err, set)
	}
}

// HoldPort returns a TCP port of 127.0.0.1 that the kernel chose. The kernel gives it to no client and to no listener
// without a port before this process ends, because a socket is bound to it. That socket does not listen: with
// SO_REUSEADDR, which listeners of Go and most servers set, a server can (Linux, socket(7)). Elsewhere it returns
// errors.ErrUnsupported.
func HoldPort() (port int, err error) {
	if runtime.GOOS != "linux" {
		return 0, errors.ErrUnsupported
	}
	fd, err := unix.Socket(unix.AF_INET, unix.SOCK_STREAM, 0)
	if err != nil {
		return 0, err
	}
	unix.CloseOnExec(fd)
	if port, err = bindLoopback(fd); err != nil {
		_ = unix.Close(fd) // was not used
	}
	return port, err
}

func bindLoopback(fd int) (port int, err error) {
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
	inet, ok := address.(*unix.SockaddrInet4)
	if !ok {
		return 0, errors.ErrUnsupported
	}
	return inet.Port, nil
}

// IsNoSpace reports whether a write failed because the disk is full.
func IsNoSpace(err error) bool { return errno(err, syscall.ENOSPC) }

// IsAddressInUse reports whether another process listens on the address.
func IsAddressInUse(err error) bool { return errno(err, syscall.EADDRINUSE) }

// IsAddressDenied reports whether the user may not listen on the port.
func IsAddressDenied(err error) bool { return errno(err, syscall.EACCES) }

// IsNoAddress reports whether this machine does not have the address.
func IsNoAddress(err error) bool { return errno(err, syscall.EADDRNOTAVAIL) }

// IsRefused reports whether no process listens on the address.
func IsRefused(err error) bool { return errno(err, syscall.ECONNREFUSED) }
