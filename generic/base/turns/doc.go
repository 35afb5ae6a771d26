// Package turns shares the processors between long answers and everything else.
//
// The runtime runs goroutines in the order in which they became ready, for as long
// as they have something to do, and looks at the network when none is ready. A
// few clients that list a lot keep as many goroutines ready as there are
// connections, and a small request waits for all of them, several times. Priority
// and fairness does not help: it counts requests, and those have their seats.
//
// So work that lasts longer than a quantum is done in turns:
//
//   - At most as many long answers as there are processors go on at a time; the
//     others wait, in the order of their arrival, outside of the runtime's queues.
//   - After each quantum, an answer lets everything go first that arrived from the
//     network meanwhile; after some quanta, it is the turn of the next.
//   - Who waits for its client, rather than for a processor, loses its turn.
//
// A handler calls Turn.Yield between pieces of work; that is all. A request that
// is answered within a quantum never takes a turn, and waits for nobody.
package turns
