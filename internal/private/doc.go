// Package private checks that other users cannot modify or read private files: directories by their owner and
// mode, and files with private keys. It accepts files of root, who has access to everything; volumes of containers
// belong to root. Windows has access lists instead, which the package does not check.
package private
