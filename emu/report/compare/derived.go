package compare

// warn prints which watermarks differ although nobody has given them.
func (c *Comparison) warn(row func(...string)) {
	for _, text := range c.Derived {
		row("Warning: " + text)
	}
}
