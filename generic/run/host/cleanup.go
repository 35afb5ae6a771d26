package host

// Cleanup is a stack of functions that undo steps. The zero value is empty.
type Cleanup struct{ steps []func() }

// Add adds a function, which runs before those that were added earlier.
func (c *Cleanup) Add(f func()) { c.steps = append(c.steps, f) }

// Run calls all functions, last first; a second call does nothing.
func (c *Cleanup) Run() {
	for i := len(c.steps) - 1; i >= 0; i-- {
		c.steps[i]()
	}
	c.steps = nil
}
