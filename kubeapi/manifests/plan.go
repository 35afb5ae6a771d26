package manifests

// plan is the inventory during a pass.
type plan struct {
	before     []reference            // as stored
	all        []reference            // with the objects of the files
	references map[identity]reference // the latest of each object
	kept       map[identity]bool      // objects that are not pruned
}

// newPlan returns the plan of a pass. Objects of files with problems are kept.
func newPlan(before []reference, problems []Problem) *plan {
	p := &plan{before: before, references: map[identity]reference{}, kept: map[identity]bool{}}
	for _, r := range before {
		p.add(r)
	}
	for _, problem := range problems {
		p.keepFile(problem.File)
	}
	return p
}

// keepFile keeps all objects that were applied from a file.
func (p *plan) keepFile(name string) {
	for _, r := range p.before {
		if r.File == name {
			p.kept[r.identity()] = true
		}
	}
}

// add adds an object to the inventory, or updates its file.
func (p *plan) add(r reference) {
	if _, known := p.references[r.identity()]; !known {
		p.all = append(p.all, r)
	}
	p.references[r.identity()] = r
}

// keep adds an object that is in a file.
func (p *plan) keep(r reference) {
	p.add(r)
	p.kept[r.identity()] = true
}
