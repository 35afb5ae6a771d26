package host

// Cleanup undoes what was done, last first. The zero value has nothing to undo.
type Cleanup struct{ steps []func() }

// Add adds a step, which runs before those that were added earlier.
func (c *Cleanup) Add(f func()) { c.steps = append(c.steps, f) }

// Run undoes all steps; a second call does nothing.
func (c *Cleanup) Run() {
	for i := len(c.steps) - 1; i >= 0; i-- {
		c.steps[i]()
	}
	c.steps = nil
}
