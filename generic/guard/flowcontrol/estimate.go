package flowcontrol

import (
	"math"
	"strconv"
	"time"

	"triplane/generic/base/request"
)

// Objects knows how much there is of a resource. Its methods are called for each
// list and each write, and must not wait.
type Objects interface {
	// Count is how many objects of a resource are stored; false where that is
	// not known.
	Count(group, resource string) (int64, bool)
	// Watchers is how many watches see a change of the object.
	Watchers(group, resource, namespace, name string) int
}

// width is what a request is estimated to occupy: seats while it executes, and
// finalSeats for the time extra after it, in which its watchers get the event.
type width struct {
	seats, finalSeats int
	extra             time.Duration
	watchers          int // -1 where the request is no write of an object
}

const (
	// maxSeats bounds the width of a request.
	maxSeats = 10
	// maxPart bounds it to this part of its level's own seats, so that a few wide
	// requests do not fill a small level.
	maxPart = 0.15
	// objectsPerSeat is how many objects of a list are the work of one seat.
	objectsPerSeat = 100
	// watchersPerSeat is how many watchers' events are the work of one seat for
	// the time eventTime; fewer watchers are not counted.
	watchersPerSeat = 10
	eventTime       = 5 * time.Millisecond
)

// estimate says how wide a request is at a level with so many seats of its own.
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
		if asksForInitialEvents(r.Query) {
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

// deliver widens a write by its watchers' share: as many seats for as long as the
// work takes; what would need more than most seats takes longer instead.
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

// seatsOfList counts the objects that have to be looked at: all of the resource,
// or a page of them where no selector has to find them.
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

// asksForInitialEvents reports whether a watch begins with what there is.
func asksForInitialEvents(query string) bool {
	if v, ok := request.QueryValue(query, "sendInitialEvents"); ok {
		return v != "false" && v != "0"
	}
	v, _ := request.QueryValue(query, "resourceVersion")
	return v == "" || v == "0"
}
