//go:build !linux

package resident

// Unmap does nothing on this platform.
func Unmap(string) error { return nil }
