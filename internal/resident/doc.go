// Package resident gives memory back to the system that a process maps but does not need at
// the time: pages of files, which the kernel keeps in its cache and maps again when they are
// touched (64 KB in 2 µs or so). Most of a program's code runs once, at its start.
package resident
