package flowcontrol

import (
	"math"
	"strconv"
	"time"

	"triplane.dev/generic/base/request"
)

// Objects provides counts of objects and watches. Its methods are called for each list and each write and must
// not block.
type Objects interface {
	// Count returns how many objects of a resource are stored, and false if that is unknown.
	Count(group, resource string) (int64, bool)
	// Watchers returns how many watches receive a change of the object.
	Watchers(group, resource, namespace, name string) int
}

// width is the estimated cost of a request: seats while it executes, then finalSeats for the duration extra, in
// which watchers receive the event.
type width struct {
	seats, finalSeats int
	extra             time.Duration
	watchers          int // -1 if the request is not a write of an object
}

const (
	// maxSeats limits the seats of a request.
	maxSeats = 10
	// maxPart limits the seats of a request to this part of its level's nominal seats, so that a few wide
	// requests do not fill a small level.
	maxPart = 0.15
	// objectsPerSeat is how many objects of a list count as one seat.
	objectsPerSeat = 100
	// watchersPerSeat is how many watchers of a write count as one seat for the duration eventTime. Fewer
	// watchers count as none.
	watchersPerSeat = 10
	eventTime       = 5 * time.Millisecond
)

// estimate returns the width of a request at a level with the given nominal seats.
func estimate(r *Request, objects Objects, nominal int) width {
	w := width{seats: 1, watchers: -1}
	if !r.Info.IsResourceRequest || objects == nil {
		return w
	}
	most := max(1, min(maxSeats, int(math.Ceil(maxPart*float64(nominal)))))
	switch r.Info.Verb {
	case "list":
		w.seats = seatsOfList(r, objects, most)
	case "watch":
		if hasInitialEvents(r.Query) {
			w.seats = seatsOfList(r, objects, most)
		}
	case "create", "update", "patch", "delete":
		if r.Info.Subresource == "" || r.Info.Subresource == "status" {
			w.watchers = objects.Watchers(r.Info.APIGroup, r.Info.Resource, r.Info.Namespace, r.Info.Name)
			w.deliver(most)
		}
	}
	return w
}

// deliver adds the delivery of events to watchers to the width of a write. Beyond most seats, the duration
// grows instead.
func (w *width) deliver(most int) {
	if w.watchers < watchersPerSeat {
		return
	}
	seats := (w.watchers + watchersPerSeat - 1) / watchersPerSeat
	w.finalSeats, w.extra = seats, eventTime
	if seats > most {
		w.finalSeats = most
		w.extra = time.Duration(float64(eventTime) * float64(seats) / float64(most))
	}
}

// seatsOfList estimates the seats of a list by the objects that are read: all of the resource, or one page if
// no selector filters them.
func seatsOfList(r *Request, objects Objects, most int) int {
	if r.Info.Name != "" {
		return 1
	}
	n, known := objects.Count(r.Info.APIGroup, r.Info.Resource)
	if !known {
		return 1
	}
	if limit := limitOf(r.Query); limit > 0 && r.Info.FieldSelector == "" && r.Info.LabelSelector == "" {
		n = min(n, limit)
	}
	return min(most, int((max(n, 1)+objectsPerSeat-1)/objectsPerSeat))
}

func limitOf(query string) int64 {
	if query == "" {
		return 0
	}
	text, _ := request.QueryValue(query, "limit")
	n, err := strconv.ParseInt(text, 10, 64)
	if err != nil {
		return 0
	}
	return n
}

// hasInitialEvents reports whether a watch begins with events for the existing objects.
func hasInitialEvents(query string) bool {
	if v, ok := request.QueryValue(query, "sendInitialEvents"); ok {
		return v != "false" && v != "0"
	}
	v, _ := request.QueryValue(query, "resourceVersion")
	return v == "" || v == "0"
}
