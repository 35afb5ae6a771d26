//go:build !linux

package resident

// Unmap does nothing on this platform.
func Unmap(string) error { return nil }

// Files returns 0 on this platform.
func Files() int64 { return 0 }
