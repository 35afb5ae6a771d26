package flowcontrol

import (
	"hash/maphash"
	"math/bits"
)

// maxHand is the largest hand that is dealt: the validation of priority levels
// bounds the bits that dealing takes to 60, which a hand of 60 cards needs of the
// smallest deck of more than one.
const maxHand = 60

// flowHash is the number by which a flow's queues are chosen. The seed is secret,
// so that nobody can choose a name that shares the queues of another.
func flowHash(seed maphash.Seed, schema, distinguisher string) uint64 {
	return maphash.String(seed, distinguisher) ^ bits.RotateLeft64(maphash.String(seed, schema), 32)
}

// deal is shuffle sharding: it draws size different cards of a deck, which are
// the same for the same hash, and each hand is as likely as any other.
//
// The hash is read as digits: the first chooses one of all cards, the next one of
// those left, and so on. A digit counts the cards that are still in the deck, so
// that those drawn before it have to be skipped.
func deal(hash uint64, deck, size int, hand *[maxHand]int) []int {
	size = min(size, deck, maxHand)
	var drawn [maxHand]int // the cards of the hand in ascending order
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
