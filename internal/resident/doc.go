// Package resident returns memory to the system that a process maps but does not need now:
// pages of files, of the kernel's cache or of the process only. Most of a program's code
// runs once, at its start; when it is used again, the kernel maps 64 KB in about 2 µs.
package resident
