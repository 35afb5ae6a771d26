// Package durable writes files that survive a power failure. When WriteFile has returned, the file is on
// the disk, content and name; if the power fails before, the file is the old one or the new one, whole.
//
//	durable.WriteFile(path, content, mode)       // replaces a file
//	durable.Write(path, mode, func(w io.Writer) error { … })
//	durable.MkdirAll(dir, mode)                  // instead of os.MkdirAll
//
// The content is synced before the file gets its name, and the directory after that: otherwise a file system
// may have a name on the disk without its content, or content without a name.
//
// All files of the server that must not be lost are written this way; internal/imports tests it.
package durable
