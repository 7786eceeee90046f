package plan

// Carry says with which state of an older plan a plan goes on.
type Carry struct {
	// From is the older plan.
	From *Plan
	// Nodes has an entry for each node of the plan.
	Nodes []Carried
}

// Carried is what a node goes on with.
type Carried struct {
	// Node is the node of the older plan, -1 for none: the node begins empty, a source
	// where its options say.
	Node int
	// Aggs gives for each aggregate of the node the older node's that it goes on with, or
	// -1 to begin empty; nil where there are none.
	Aggs []int
}
