// Package durable writes files that survive a power failure. After WriteFile has returned, content and name of the
// file are on the disk. If the power fails before, the file has either the old or the new content.
//
//	durable.WriteFile(path, content, mode)       // replaces a file
//	durable.Write(path, mode, func(w io.Writer) error { … })
//	durable.MkdirAll(dir, mode)                  // instead of os.MkdirAll
//
// It syncs the content before the file is renamed, and the directory after that. Otherwise a file system may
// persist a name without its content, or content without a name.
//
// The server writes all files that must not be lost in this way; internal/imports tests it.
package durable
