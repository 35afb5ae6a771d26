// Package longwork says now and then how far a work is that takes long. Work that is soon done says
// nothing.
package longwork
