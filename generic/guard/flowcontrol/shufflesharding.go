package flowcontrol

import (
	"hash/maphash"
	"math/bits"
)

// maxHand is the largest hand size. The validation of priority levels limits the bits of a hand to 60, so that
// the largest hand has 60 queues, out of a deck of more than one.
const maxHand = 60

// flowHash returns the hash that selects a flow's queues. Its seed is secret, so that clients cannot choose
// names that share the queues of another flow.
func flowHash(seed maphash.Seed, schema, distinguisher string) uint64 {
	return maphash.String(seed, distinguisher) ^ bits.RotateLeft64(maphash.String(seed, schema), 32)
}

// deal implements shuffle sharding: it returns size different queues out of deck. The same hash results in the
// same hand; all hands are equally likely.
//
// The digits of the hash select the queues: the first digit one of all queues, the next one of the rest, and so
// on. A digit is an index into the queues that are not yet selected.
func deal(hash uint64, deck, size int, hand *[maxHand]int) []int {
	size = min(size, deck, maxHand)
	var drawn [maxHand]int // the selected queues in ascending order
	for i := range size {
		left := uint64(deck - i)
		card := int(hash % left)
		hash /= left
		at := 0
		for at < i && drawn[at] <= card {
			card++
			at++
		}
		copy(drawn[at+1:i+1], drawn[at:i])
		drawn[at] = card
		hand[i] = card
	}
	return hand[:size]
}
