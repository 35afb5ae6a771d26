package garbage

// sameKey has the nodes of one key: the object at the key, and those to which references refer. Clients can refer
// to thousands of objects that never existed. Nodes known to be absent are therefore sorted to the end, and events
// at the key skip them.
type sameKey struct {
	nodes []*node // node.at is the index
	open  int     // nodes[:open] are not absent
}

// add adds a node that is not absent.
func (s *sameKey) add(n *node) {
	n.at = len(s.nodes)
	s.nodes = append(s.nodes, n)
	s.reopen(n)
}

// close marks a node as absent.
func (s *sameKey) close(n *node) {
	if n.at < s.open {
		s.open--
		s.swap(n.at, s.open)
	}
}

// reopen marks a node as not absent.
func (s *sameKey) reopen(n *node) {
	if n.at >= s.open {
		s.swap(n.at, s.open)
		s.open++
	}
}

// remove removes a node.
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

// opened returns the nodes that are not absent. The slice is valid until one of them becomes absent. s may be nil.
func (s *sameKey) opened() []*node {
	if s == nil {
		return nil
	}
	return s.nodes[:s.open]
}
