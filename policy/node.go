package policy

// node is one value of a policy file with its place. TOML and JSON become the
// same tree, so that one table of keys reads both.
type node struct {
	line   int
	kind   nodeKind
	text   string  // nodeText, and nodeNumber as it was written
	flag   bool    // nodeBool
	items  []node  // nodeList
	fields []field // nodeTable, in order of writing
}

type field struct {
	key string
	node
}

type nodeKind string

const (
	nodeText   nodeKind = "a string"
	nodeBool   nodeKind = "a boolean"
	nodeNumber nodeKind = "a number"
	nodeList   nodeKind = "a list"
	nodeTable  nodeKind = "a table"
	nodeNull   nodeKind = "null"
	nodeOther  nodeKind = "a date"
)

const (
	// maxPolicyBytes bounds what is parsed at all; a policy of 2000 entries is 100 kB.
	maxPolicyBytes = 1 << 20
	// maxNesting bounds recursion over untrusted text; the deepest key has four levels.
	maxNesting = 16
)
