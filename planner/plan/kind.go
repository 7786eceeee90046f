package plan

// Kind is the word for the node's operator.
func (n *Node) Kind() string {
	switch {
	case n.Source != nil:
		return "source"
	case n.Values != nil:
		return "values"
	case n.Calc != nil:
		return "calc"
	case n.Stamp != nil:
		return "stamp"
	case n.Assign != nil:
		return "assign"
	case n.WindowAgg != nil:
		return "window"
	case n.GroupAgg != nil:
		return "group"
	case n.Union != nil:
		return "union"
	case n.Materialize != nil:
		return "materialize"
	}
	return "sink"
}
