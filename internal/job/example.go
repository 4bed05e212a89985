package job

import (
	_ "embed"
	"slices"
)

//go:embed sheetclaim.example.yaml
var example []byte

// Example is a commented configuration to start from. It loads once its environment
// variables are set and google.json lies beside it.
func Example() []byte { return slices.Clone(example) }
