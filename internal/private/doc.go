// Package private checks that nobody else can change or read what is for the user alone that a process runs
// as: directories, by their owner and mode, and files with private keys. Root may do everything anyway, so
// that what belongs to root is taken for private, as volumes of containers are.
package private
