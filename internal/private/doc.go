// Package private checks that other users cannot modify or read private files: directories by their owner and
// mode, and files with private keys. It accepts files of root, who has access to everything; volumes of containers
// belong to root.
package private
