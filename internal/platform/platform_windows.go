package platform

import (
	"errors"
	"os"
	"syscall"
	"unsafe"

	"golang.org/x/sys/windows"
)

// HasOwners reports whether files have owners and mode bits for their group and other users. Windows has access
// lists instead.
const HasOwners = false

// Owner returns nothing on Windows.
func Owner(os.FileInfo) (uid int, ok bool) { return 0, false }

// TryLock locks a file until it is closed. It returns ErrLocked if another process has locked it.
func TryLock(f *os.File) error {
	err := windows.LockFileEx(windows.Handle(f.Fd()),
		windows.LOCKFILE_EXCLUSIVE_LOCK|windows.LOCKFILE_FAIL_IMMEDIATELY, 0, 1, 0, new(windows.Overlapped))
	if errors.Is(err, windows.ERROR_LOCK_VIOLATION) {
		return ErrLocked
	}
	return err
}

// FreeSpace returns the bytes that this user can write to the volume of a directory.
func FreeSpace(dir string) (uint64, error) {
	name, err := windows.UTF16PtrFromString(dir)
	if err != nil {
		return 0, err
	}
	var free uint64
	err = windows.GetDiskFreeSpaceEx(name, &free, nil, nil)
	return free, err
}

// Map maps size bytes of a file for reading, until unmap is called.
func Map(f *os.File, size int) (content []byte, unmap func() error, err error) {
	mapping, err := windows.CreateFileMapping(windows.Handle(f.Fd()), nil, windows.PAGE_READONLY, 0, 0, nil)
	if err != nil {
		return nil, nil, os.NewSyscallError("CreateFileMapping", err)
	}
	address, err := windows.MapViewOfFile(mapping, windows.FILE_MAP_READ, 0, 0, uintptr(size))
	err = errors.Join(os.NewSyscallError("MapViewOfFile", err), windows.CloseHandle(mapping))
	if address == 0 {
		return nil, nil, err
	}
	// The address is not one of Go's heap, so the garbage collector does not move it.
	content = unsafe.Slice(*(**byte)(unsafe.Pointer(&address)), size)
	return content, func() error { return windows.UnmapViewOfFile(address) }, err
}

// Sync writes a file to the disk. Windows has no call for the names in a directory; NTFS logs them.
func Sync(path string) error {
	info, err := os.Stat(path)
	if err != nil || info.IsDir() {
		return err
	}
	f, err := os.OpenFile(path, os.O_RDWR, 0)
	if err != nil {
		return err
	}
	return errors.Join(f.Sync(), f.Close())
}

// FileLimit returns how many files and sockets this process can open; ok is false without a relevant limit.
func FileLimit() (limit int, ok bool) { return 0, false }

// ReusePort lets the listener fail if it is called for: SO_REUSEADDR of Windows allows any process to take over a port.
func ReusePort(port, address bool) SocketControl {
	if !port && !address {
		return nil
	}
	return func(string, string, syscall.RawConn) error {
		return errors.New("sharing ports or addresses between processes is not supported on Windows")
	}
}

// IsNoSpace reports whether a write failed because the disk is full.
func IsNoSpace(err error) bool {
	return errno(err, windows.ERROR_DISK_FULL, windows.ERROR_HANDLE_DISK_FULL, syscall.ENOSPC)
}

// HoldPort returns errors.ErrUnsupported.
func HoldPort() (port int, err error) { return 0, errors.ErrUnsupported }

// IsAddressInUse reports whether another process listens on the address.
func IsAddressInUse(err error) bool { return errno(err, windows.WSAEADDRINUSE, syscall.EADDRINUSE) }

// IsAddressDenied reports whether the user may not listen on the port.
func IsAddressDenied(err error) bool { return errno(err, windows.WSAEACCES, syscall.EACCES) }

// IsNoAddress reports whether this machine does not have the address.
func IsNoAddress(err error) bool { return errno(err, windows.WSAEADDRNOTAVAIL, syscall.EADDRNOTAVAIL) }

// IsRefused reports whether no process listens on the address.
func IsRefused(err error) bool { return errno(err, windows.WSAECONNREFUSED, syscall.ECONNREFUSED) }
