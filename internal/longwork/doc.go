// Package longwork reports the progress of work that takes long, every few seconds. Work that is done
// before is not reported.
package longwork
