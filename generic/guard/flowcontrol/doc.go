// Package flowcontrol implements API priority and fairness (KEP-1040): it decides when a request may execute,
// so that no client starves the others.
//
// A request is classified by the matching FlowSchema with the lowest precedence. The schema names the priority
// level and, with its distinguisher, the flow. A level has a number of seats; a request occupies as many as its
// estimated width while it executes. Without free seats the request waits in one of the level's queues. Shuffle
// sharding assigns flows to queues: a flow that fills its queues very probably leaves other flows an empty
// queue. Requests are dispatched in the order of virtual finish times, so that queues get equal shares of the
// level's seats.
//
// The server's seats, the sum of --max-requests-inflight and --max-mutating-requests-inflight, are divided
// among the levels by their nominal shares. Every ten seconds levels with a higher demand borrow seats from
// others.
//
// A request makes three calls:
//
//	controller.Classify(request, &ticket)  // sets schema, level and flow
//	reason := ticket.Enter(ctx, limit)     // waits for seats, or returns a rejection
//	defer ticket.Leave()                   // releases the seats
//
// The caller allocates the Ticket. A request that does not wait allocates nothing and locks one mutex (its
// level's) twice. Plain counters below that mutex become metrics on a scrape.
//
// All methods of Controller are safe for concurrent use. A Ticket belongs to one request. Leave may be called
// from another goroutine than Enter, and more than once.
package flowcontrol
