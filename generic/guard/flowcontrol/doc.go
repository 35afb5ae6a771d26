// Package flowcontrol is API priority and fairness (KEP-1040): it decides when a
// request may execute, so that no client starves the others.
//
// A FlowSchema classifies a request: the matching one of the lowest precedence
// names its priority level and, by its distinguisher, its flow. A level has a
// number of seats; a request occupies as many as it is estimated to cost, for as
// long as it executes. A request that finds no seats waits in one of the queues
// of its level. Flows are dealt to queues by shuffle sharding, so that a flow
// that fills its queues leaves others a queue of their own with a high
// probability; queues are served in the order of virtual finish times, so that
// they get equal shares of the level's seats.
//
// The server's seats, the sum of --max-requests-inflight and
// --max-mutating-requests-inflight, are divided among the levels by their nominal
// shares. Every ten seconds levels that need more borrow what others lend.
//
// A request passes in three calls:
//
//	controller.Classify(request, &ticket)  // finds schema, level and flow
//	reason := ticket.Enter(ctx, limit)     // waits for seats, or says why not
//	defer ticket.Leave()                   // gives the seats back
//
// A Ticket is memory of the caller. A request that does not have to wait allocates
// nothing, takes one mutex (its level's) twice, and updates plain counters below
// it; they become metrics when they are scraped.
//
// All methods of Controller are safe for concurrent use. A Ticket belongs to one
// request; Leave may be called from another goroutine than Enter, and more than
// once.
package flowcontrol
