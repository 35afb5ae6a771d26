//go:build !linux

package resident

// Unmap does nothing here.
func Unmap(string) error { return nil }

// PageOut does nothing here.
func PageOut(string) error { return nil }
