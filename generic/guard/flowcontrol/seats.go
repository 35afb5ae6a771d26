package flowcontrol

import (
	"math"
	"slices"

	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/utils/ptr"
)

// limits are the seats of a level: the nominal ones from its shares, and the bounds that lending and borrowing
// may reach.
type limits struct{ nominal, lower, upper int }

// unlimited is the upper limit of a level without a borrowing limit.
const unlimited = math.MaxInt32

// defaultShares are the shares of a level without nominalConcurrencyShares (API reference).
const defaultShares = 30

// sharesOf returns a level's nominal shares, the percentage of its seats that it lends, and the percentage that
// it may borrow, which is negative without a limit.
func sharesOf(l *flowv1.PriorityLevelConfiguration) (shares, lends, borrows int32) {
	switch {
	case l.Spec.Exempt != nil:
		return ptr.Deref(l.Spec.Exempt.NominalConcurrencyShares, 0), ptr.Deref(l.Spec.Exempt.LendablePercent, 0), -1
	case l.Spec.Limited != nil:
		x := l.Spec.Limited
		return ptr.Deref(x.NominalConcurrencyShares, defaultShares),
			ptr.Deref(x.LendablePercent, 0), ptr.Deref(x.BorrowingLimitPercent, -1)
	}
	return 0, 0, -1
}

// limitsOf returns the limits of a level that has its part of all shares in total seats.
func limitsOf(l *flowv1.PriorityLevelConfiguration, total int, allShares float64) limits {
	shares, lends, borrows := sharesOf(l)
	if shares <= 0 || allShares <= 0 {
		upper := unlimited
		if borrows >= 0 {
			upper = 0
		}
		return limits{upper: upper}
	}
	nominal := math.Ceil(float64(total) * float64(shares) / allShares)
	x := limits{nominal: int(nominal), lower: int(nominal - math.Round(nominal*float64(lends)/100)), upper: unlimited}
	if borrows >= 0 {
		x.upper = int(nominal + math.Round(nominal*float64(borrows)/100))
	}
	return x
}

// share is the input and the result of divide for one level.
type share struct {
	limits
	exempt       bool
	high, smooth float64
	// Results.
	target float64
	seats  int
}

// least is the minimum of a level's seats: the seats that it does not lend, and its nominal seats as far as it
// used them.
func (s *share) least() float64 {
	return max(float64(s.lower), min(float64(s.nominal), s.high))
}

// divide sets the seats of each level for the next period, as KEP-1040 defines it. The fair fraction f is the
// one for which the sum of min(upper, max(least, f*target)) over all levels equals the seats to divide. divide
// returns f. A level that has lent all its seats keeps one: its first request would wait until the end of the
// period, while the server does nothing.
func divide(total int, levels []share) (fair float64) {
	left, bottom := float64(total), 0.0
	var limited []*share
	for i := range levels {
		s := &levels[i]
		s.target = max(s.least(), s.smooth)
		if s.exempt {
			s.seats = int(math.Round(s.target)) // exempt levels are not limited
			left -= s.target
			continue
		}
		limited = append(limited, s)
		bottom += s.least()
	}
	left = max(left, bottom)
	fair = fairFraction(left, limited)
	for _, s := range limited {
		s.seats = max(int(math.Round(s.at(fair))), min(s.upper, 1))
	}
	return fair
}

// at returns the level's seats for a fraction.
func (s *share) at(fraction float64) float64 {
	return min(float64(s.upper), max(s.least(), fraction*s.target))
}

// fairFraction returns the fraction for which the levels' seats add up to seats. A level's seats are a
// piecewise linear function of the fraction, with bends at its least and its upper limit. Between two
// neighbouring bends of all levels the sum is linear.
func fairFraction(seats float64, levels []*share) float64 {
	sum := func(f float64) (total float64) {
		for _, s := range levels {
			total += s.at(f)
		}
		return total
	}
	ends := []float64{0}
	for _, s := range levels {
		if s.target > 0 {
			ends = append(ends, s.least()/s.target, float64(s.upper)/s.target)
		}
	}
	slices.Sort(ends)
	for i, f := range ends {
		at := sum(f)
		if at < seats {
			continue
		}
		if i == 0 {
			return f
		}
		before := ends[i-1]
		below := sum(before)
		if at == below {
			return f
		}
		return before + (f-before)*(seats-below)/(at-below)
	}
	return ends[len(ends)-1]
}
