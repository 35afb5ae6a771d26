// Package timeslice shares the processors between long responses and all other work.
//
// The Go runtime executes goroutines in the order in which they became ready. It polls
// the network only when no goroutine is ready. A few clients with large lists keep as
// many goroutines ready as they have connections, and a small request queues behind all
// of them, several times. Priority and fairness does not help: it limits how many
// requests execute, and these requests already have their seats.
//
// A Scheduler therefore divides work that lasts longer than a Quantum:
//
//   - At most one long response for each processor executes at a time. The others wait
//     in a FIFO queue, outside of the runtime's run queues.
//   - After each quantum, a long response yields to all work that arrived from the
//     network. After several quanta it passes its slot to the next in the queue.
//   - A response that waits for its client, rather than for a processor, loses its slot.
//
// A handler calls Task.Yield between pieces of work. A request that is served within
// one quantum never uses a slot and never waits.
package timeslice
