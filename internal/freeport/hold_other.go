//go:build !linux

package freeport

import "errors"

func hold() (int, error) { return 0, errors.ErrUnsupported }
