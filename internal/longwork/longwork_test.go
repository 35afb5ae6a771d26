package longwork

import (
	"errors"
	"testing"
	"testing/synctest"
	"time"

	"go.uber.org/goleak"
)

func TestMain(m *testing.M) { goleak.VerifyTestMain(m) }

func TestDue(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := Start(Interval)
		for _, want := range []bool{false, false, true, false, true, false} {
			if got := c.Due(); got != want {
				t.Errorf("due %v, want %v", got, want)
			}
			time.Sleep(Interval / 2)
		}
	})
}

func TestWhile(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		lines, failure := 0, errors.New("it failed")
		err := While(Interval, func() { lines++ }, func() error {
			time.Sleep(3*Interval + Interval/2)
			return failure
		})
		if lines != 3 || !errors.Is(err, failure) {
			t.Errorf("%d lines, %v", lines, err)
		}
	})
}
