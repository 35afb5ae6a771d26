package cache

// index has the running watches of a cache by their scope. Cache.mu guards it.
type index struct {
	count       int
	all         []*watch
	byNamespace map[string][]*watch // by key prefix
	byKey       map[string][]*watch
	byValue     map[string][]*watch // by value of the index field
	// dirty are the watches with new events in the current batch. spare is the slice of the previous batch,
	// which only the multiplexer's goroutine uses.
	dirty, spare []*watch
}

// scopeKind selects a list of the index.
type scopeKind uint8

const (
	scopeAll scopeKind = iota
	scopeNamespace
	scopeKey
	scopeValue
)

// scope is a watch's position in the index.
type scope struct {
	kind  scopeKind
	value string
}

func (x *index) table(kind scopeKind) *map[string][]*watch {
	switch kind {
	case scopeNamespace:
		return &x.byNamespace
	case scopeKey:
		return &x.byKey
	default:
		return &x.byValue
	}
}

func (x *index) add(w *watch) {
	x.count++
	if w.scope.kind == scopeAll {
		w.place = len(x.all)
		x.all = append(x.all, w)
		return
	}
	t := x.table(w.scope.kind)
	if *t == nil {
		*t = map[string][]*watch{}
	}
	w.place = len((*t)[w.scope.value])
	(*t)[w.scope.value] = append((*t)[w.scope.value], w)
}

// remove removes a watch, which must be in the index. The last watch of its list takes its position.
func (x *index) remove(w *watch) {
	x.count--
	if w.scope.kind == scopeAll {
		x.all = without(x.all, w)
		return
	}
	t := *x.table(w.scope.kind)
	if rest := without(t[w.scope.value], w); len(rest) > 0 {
		t[w.scope.value] = rest
	} else {
		delete(t, w.scope.value)
	}
}

func without(list []*watch, w *watch) []*watch {
	last := len(list) - 1
	list[w.place] = list[last]
	list[w.place].place = w.place
	list[last] = nil
	return list[:last]
}

// push queues an event with each watch of a list.
func (x *index) push(list []*watch, e *event) {
	for _, w := range list {
		if w.push(e) {
			x.dirty = append(x.dirty, w)
		}
	}
}

// end ends all watches with an error and empties the index.
func (x *index) end(err error) {
	x.each(func(w *watch) { w.fail(err) })
	x.all, x.byNamespace, x.byKey, x.byValue, x.count = nil, nil, nil, nil, 0
}

func (x *index) each(f func(*watch)) {
	for _, w := range x.all {
		f(w)
	}
	for _, t := range []map[string][]*watch{x.byNamespace, x.byKey, x.byValue} {
		for _, list := range t {
			for _, w := range list {
				f(w)
			}
		}
	}
}
