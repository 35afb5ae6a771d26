package flowcontrol

import (
	"math"
	"slices"

	flowv1 "k8s.io/api/flowcontrol/v1"
	"k8s.io/utils/ptr"
)

// limits are the seats of a level: what it has by its shares, and the least and
// the most that lending and borrowing may make of that.
type limits struct{ nominal, lower, upper int }

// unlimited is the upper limit of a level that may borrow all there is.
const unlimited = math.MaxInt32

// defaultShares are those of a limited level that does not say (API reference).
const defaultShares = 30

// sharesOf are a level's nominal shares, the percentage of its seats that it
// lends, and the percentage that it may borrow, negative where that is unlimited.
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

// limitsOf divides the server's seats.
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

// share is one level in a division of the seats.
type share struct {
	limits
	exempt       bool
	high, smooth float64
	// Results.
	target float64
	seats  int
}

// least is what a level keeps: its own seats as far as it used them, and those
// that it does not lend.
func (s *share) least() float64 {
	return max(float64(s.lower), min(float64(s.nominal), s.high))
}

// divide sets each level's seats for the next period, as KEP-1040 defines it:
// the fair fraction f is that for which the levels' min(upper, max(least,
// f*target)) are as many as there are seats to divide. It returns f.
func divide(total int, levels []share) (fair float64) {
	left, bottom := float64(total), 0.0
	var limited []*share
	for i := range levels {
		s := &levels[i]
		s.target = max(s.least(), s.smooth)
		if s.exempt {
			s.seats = int(math.Round(s.target)) // it takes what it wants
			left -= s.target
			continue
		}
		limited = append(limited, s)
		bottom += s.least()
	}
	left = max(left, bottom)
	fair = fairFraction(left, limited)
	for _, s := range limited {
		s.seats = int(math.Round(s.at(fair)))
	}
	return fair
}

// at is what the level gets for a fraction.
func (s *share) at(fraction float64) float64 {
	return min(float64(s.upper), max(s.least(), fraction*s.target))
}

// fairFraction finds the fraction at which the seats are divided without a rest.
// What a level gets grows with the fraction in one straight piece, between that
// where it leaves its least and that where it meets its upper limit; between two
// neighbouring ends of such pieces the sum is a straight line.
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
