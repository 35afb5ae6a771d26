package garbage

// sameKey is the nodes of one key: the object that is there, and those that references name.
// Anybody may name thousands that never were: those which are known to be absent stand behind the
// others, and what happens at the key does not look at them.
type sameKey struct {
	nodes []*node // node.at is the index
	open  int     // nodes[:open] are not absent
}

// add takes a node that is not absent.
func (s *sameKey) add(n *node) {
	n.at = len(s.nodes)
	s.nodes = append(s.nodes, n)
	s.reopen(n)
}

// close says that a node is absent now.
func (s *sameKey) close(n *node) {
	if n.at < s.open {
		s.open--
		s.swap(n.at, s.open)
	}
}

// reopen says that a node is not absent any more.
func (s *sameKey) reopen(n *node) {
	if n.at >= s.open {
		s.swap(n.at, s.open)
		s.open++
	}
}

// remove forgets a node.
func (s *sameKey) remove(n *node) {
	s.close(n)
	last := len(s.nodes) - 1
	s.swap(n.at, last)
	s.nodes[last] = nil
	s.nodes = s.nodes[:last]
}

func (s *sameKey) swap(i, j int) {
	s.nodes[i], s.nodes[j] = s.nodes[j], s.nodes[i]
	s.nodes[i].at, s.nodes[j].at = i, j
}

// opened are those that are not absent, until one of them becomes so. A key without nodes has none.
func (s *sameKey) opened() []*node {
	if s == nil {
		return nil
	}
	return s.nodes[:s.open]
}
