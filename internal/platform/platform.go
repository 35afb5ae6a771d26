package platform

import (
	"errors"
	"os"
	"syscall"
)

// ErrLocked means that another process has locked a file.
var ErrLocked = errors.New("locked by another process")

// SocketControl sets options on a socket before it is bound.
type SocketControl func(network, address string, c syscall.RawConn) error

// errno reports whether an error is one of some system errors.
func errno(err error, codes ...syscall.Errno) bool {
	for _, e := range codes {
		if errors.Is(err, e) {
			return true
		}
	}
	return false
}

// RemoveOpen opens a file for reading and removes its name. Where an open file cannot be removed, Close removes it.
func RemoveOpen(path string) (*Removed, error) {
	f, err := os.Open(path)
	if err != nil {
		return nil, errors.Join(err, os.Remove(path))
	}
	return &Removed{File: f, remains: os.Remove(path) != nil}, nil
}

// Removed is an open file without a name.
type Removed struct {
	*os.File
	remains bool
}

// Close closes and removes the file.
func (r *Removed) Close() error {
	err := r.File.Close()
	if r.remains {
		err = errors.Join(err, os.Remove(r.Name()))
	}
	return err
}
