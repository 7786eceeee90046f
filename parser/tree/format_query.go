package tree

import "strconv"

func (w *writer) query(q *Query) {
	for i, c := range q.With {
		if i == 0 {
			w.put("WITH ")
		} else {
			w.put(", ")
		}
		w.put(QuoteName(c.Name))
		w.columns(c.Columns)
		w.put(" AS ")
		w.bracketed(c.Query)
	}
	if len(q.With) > 0 {
		w.put(" ")
	}
	w.body(q.Body, false)
	w.orderBy(q.OrderBy)
	if q.Limit != nil {
		w.put(" LIMIT ", strconv.FormatUint(q.Limit.N, 10))
	}
	if q.Offset != nil {
		w.put(" OFFSET ", strconv.FormatUint(q.Offset.N, 10))
	}
	if q.Emit != nil {
		switch q.Emit.Mode {
		case EmitChanges:
			w.put(" EMIT CHANGES")
		case EmitOnWindowClose:
			w.put(" EMIT ON WINDOW CLOSE")
		case EmitEvery:
			w.put(" EMIT EVERY INTERVAL ", intervalText(q.Emit.Every))
		}
	}
	if q.Lateness != nil {
		w.put(" WITH LATENESS INTERVAL ", intervalText(q.Lateness.Value))
	}
}

func (w *writer) columns(c []Name) {
	if len(c) > 0 {
		w.put(" (")
		w.names(c, ", ")
		w.put(")")
	}
}

// body prints a query body; nested puts brackets round everything but a SELECT or
// VALUES.
func (w *writer) body(b QueryBody, nested bool) {
	switch b := b.(type) {
	case *Query:
		w.bracketed(b)
	case *Select:
		w.selectCore(b)
	case *Values:
		w.put("VALUES ")
		for i, r := range b.Rows {
			if i > 0 {
				w.put(", ")
			}
			w.put("(")
			w.exprs(r.Elems)
			w.put(")")
		}
	case *SetOp:
		if nested {
			w.put("(")
			defer w.put(")")
		}
		w.body(b.Left, true)
		w.put(" ", [...]string{Union: "UNION", Intersect: "INTERSECT", Except: "EXCEPT"}[b.Kind])
		if b.All {
			w.put(" ALL")
		}
		w.put(" ")
		w.body(b.Right, true)
	}
}

func (w *writer) selectCore(s *Select) {
	w.put("SELECT ")
	if s.Distinct {
		w.put("DISTINCT ")
	}
	for i, it := range s.Items {
		if i > 0 {
			w.put(", ")
		}
		w.expr(it.Expr)
		if it.Alias != nil {
			w.put(" AS ", QuoteName(*it.Alias))
		}
	}
	for i, t := range s.From {
		if i == 0 {
			w.put(" FROM ")
		} else {
			w.put(", ")
		}
		w.table(t)
	}
	if s.Where != nil {
		w.put(" WHERE ")
		w.expr(s.Where)
	}
	if s.GroupBy != nil {
		w.put(" GROUP BY ")
		w.groups(s.GroupBy.Items)
	}
	if s.Having != nil {
		w.put(" HAVING ")
		w.expr(s.Having)
	}
	for i, n := range s.Windows {
		if i == 0 {
			w.put(" WINDOW ")
		} else {
			w.put(", ")
		}
		w.put(QuoteName(n.Name), " AS ")
		w.window(n.Spec)
	}
}

func (w *writer) groups(items []GroupItem) {
	for i, g := range items {
		if i > 0 {
			w.put(", ")
		}
		if g.Kind == GroupExprs {
			if len(g.Exprs) == 1 {
				w.expr(g.Exprs[0])
				continue
			}
			w.put("(")
			w.exprs(g.Exprs)
			w.put(")")
			continue
		}
		w.put([...]string{GroupRollup: "ROLLUP", GroupCube: "CUBE", GroupSets: "GROUPING SETS"}[g.Kind], " (")
		w.groups(g.Items)
		w.put(")")
	}
}

func (w *writer) alias(a *TableAlias) {
	if a != nil {
		w.put(" AS ", QuoteName(a.Name))
		w.columns(a.Columns)
	}
}

func (w *writer) table(t TableExpr) {
	switch t := t.(type) {
	case *TableRef:
		w.names(t.Name.Parts, ".")
		if t.AsOf != nil {
			w.put(" FOR SYSTEM_TIME AS OF ")
			w.expr(t.AsOf)
		}
		w.alias(t.Alias)
	case *DerivedTable:
		if t.Lateral {
			w.put("LATERAL ")
		}
		w.bracketed(t.Query)
		w.alias(t.Alias)
	case *WindowTable:
		w.windowTable(t)
		w.alias(t.Alias)
	case *Unnest:
		w.put("UNNEST(")
		w.exprs(t.Args)
		w.put(")")
		if t.Ordinality {
			w.put(" WITH ORDINALITY")
		}
		w.alias(t.Alias)
	case *Join:
		w.join(t)
	}
}

func (w *writer) windowTable(t *WindowTable) {
	w.put([...]string{Tumble: "TUMBLE", Hop: "HOP", Cumulate: "CUMULATE", Session: "SESSION"}[t.Kind], "(")
	if _, nested := t.Input.(*WindowTable); !nested {
		w.put("TABLE ")
	}
	w.table(t.Input)
	if len(t.PartitionBy) > 0 {
		w.put(" PARTITION BY ")
		w.exprs(t.PartitionBy)
	}
	w.put(", DESCRIPTOR(")
	w.expr(t.Time)
	w.put(")")
	for _, a := range t.Args {
		w.put(", ")
		w.expr(a)
	}
	w.put(")")
}

func (w *writer) join(j *Join) {
	w.put("(")
	w.table(j.Left)
	if j.Natural {
		w.put(" NATURAL")
	}
	w.put([...]string{InnerJoin: " JOIN ", LeftJoin: " LEFT JOIN ", RightJoin: " RIGHT JOIN ", FullJoin: " FULL JOIN ", CrossJoin: " CROSS JOIN "}[j.Kind])
	w.table(j.Right)
	switch {
	case j.On != nil:
		w.put(" ON ")
		w.expr(j.On)
	case len(j.Using) > 0:
		w.put(" USING (")
		w.names(j.Using, ", ")
		w.put(")")
	}
	w.put(")")
}
