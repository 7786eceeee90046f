package parser

import (
	"slices"
	"strings"
)

// PostgreSQL 15's keyword classes (pg_get_keywords). A reserved word is no name
// unless quoted; a word of typeFuncWords may name a function only; one of
// colNameWords may name a column or table but not a function, unless in callable.
// Words of needAsWords are column labels only after AS.
var (
	reservedWords = wordSet(`all analyse analyze and any array as asc asymmetric both case cast check collate
		column constraint create current_catalog current_date current_role current_time current_timestamp
		current_user default deferrable desc distinct do else end except false fetch for foreign from grant
		group having in initially intersect into lateral leading limit localtime localtimestamp not null
		offset on only or order placing primary references returning select session_user some symmetric
		table then to trailing true union unique user using variadic when where window with`)
	typeFuncWords = wordSet(`authorization binary collation concurrently cross current_schema freeze full ilike
		inner is isnull join left like natural notnull outer overlaps right similar tablesample verbose`)
	colNameWords = wordSet(`between bigint bit boolean char character coalesce dec decimal exists extract float
		greatest grouping inout int integer interval least national nchar none normalize nullif numeric out
		overlay position precision real row setof smallint substring time timestamp treat trim values varchar
		xmlattributes xmlconcat xmlelement xmlexists xmlforest xmlnamespaces xmlparse xmlpi xmlroot
		xmlserialize xmltable`)
	callableWords = wordSet(`coalesce greatest grouping least nullif`)
	needAsWords   = wordSet(`char character precision array as create except fetch for from grant group having
		intersect into limit offset on order returning to union where window with isnull notnull overlaps
		day filter hour minute month over second varying within without year`)
)

func wordSet(list string) map[string]bool {
	m := map[string]bool{}
	for _, w := range strings.Fields(list) {
		m[strings.ToUpper(w)] = true
	}
	return m
}

// isColumnName reports that the bare word may stand for a column, table or alias.
func isColumnName(up string) bool { return !reservedWords[up] && !typeFuncWords[up] }

// isFunctionName reports that the bare word may be called.
func isFunctionName(up string) bool {
	return !reservedWords[up] && (!colNameWords[up] || callableWords[up])
}

// dialectWords are the words of statements and clauses that PostgreSQL's reserved
// list lacks; with it they are what completion offers.
var dialectWords = wordSet(`allow at begin between by cancel changes checkpoints connectors
	create cube cumulate current describe descriptor drop dot emit enforced escape every exclude exists
	explain extract filter first following format functions grouping hop if ignore insert interval
	is isnull job jobs json key last lateness like ilike join left right full cross inner natural outer
	materialized mermaid metadata next non notnull nulls of ordinality over overlay partition pause position
	preceding query range recursive replace reset respect restore restored resume rollup row rows savepoint
	savepoints session set sets settings show sink snapshot source state statement stop stream substring
	system_time tables temporary text time timestamp trim try_cast tumble unbounded unnest update upgrade
	values view views virtual watermark within zone bigint boolean bytes date decimal double float int
	integer numeric real smallint string varchar`)

// Keywords lists the words of the dialect, upper case and sorted, for completion.
func Keywords() []string {
	seen := map[string]bool{}
	for _, set := range []map[string]bool{reservedWords, dialectWords} {
		for w := range set {
			seen[w] = true
		}
	}
	out := make([]string, 0, len(seen))
	for w := range seen {
		out = append(out, w)
	}
	slices.Sort(out)
	return out
}
