// Package resident gives memory back to the system that a process maps but does not need at
// the time: pages of files, of the kernel's cache or only of the process. Most of a program's code
// runs once, at its start; when it is touched again, the kernel maps 64 KB in 2 µs or so.
package resident
