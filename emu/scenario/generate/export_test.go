package generate

// Parts of FromClab.
var (
	Expand = expand
	Device = device
)
