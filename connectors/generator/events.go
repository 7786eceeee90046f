package generator

import (
	"github.com/streamsql/streamsql/connectors/generator/nexmark"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/types"
	"github.com/streamsql/streamsql/internal/vec"
)

// eventColumn is a column of a nexmark table: one of the three functions is set.
type eventColumn struct {
	name   string
	number func(g *nexmark.Generator, n int64) int64
	millis func(g *nexmark.Generator, n int64) int64
	text   func(g *nexmark.Generator, dst []byte, n int64) []byte
}

var eventTables = [...][]eventColumn{
	nexmark.KindPerson: {
		{name: "id", number: (*nexmark.Generator).PersonID},
		{name: "name", text: (*nexmark.Generator).AppendName},
		{name: "emailAddress", text: (*nexmark.Generator).AppendEmail},
		{name: "creditCard", text: (*nexmark.Generator).AppendCreditCard},
		{name: "city", text: (*nexmark.Generator).AppendCity},
		{name: "state", text: (*nexmark.Generator).AppendState},
		{name: "dateTime", millis: (*nexmark.Generator).Time},
		{name: "extra", text: (*nexmark.Generator).AppendPersonExtra},
	},
	nexmark.KindAuction: {
		{name: "id", number: (*nexmark.Generator).AuctionID},
		{name: "itemName", text: (*nexmark.Generator).AppendItemName},
		{name: "description", text: (*nexmark.Generator).AppendDescription},
		{name: "initialBid", number: (*nexmark.Generator).InitialBid},
		{name: "reserve", number: (*nexmark.Generator).Reserve},
		{name: "dateTime", millis: (*nexmark.Generator).Time},
		{name: "expires", millis: (*nexmark.Generator).Expires},
		{name: "seller", number: (*nexmark.Generator).Seller},
		{name: "category", number: (*nexmark.Generator).Category},
		{name: "extra", text: (*nexmark.Generator).AppendAuctionExtra},
	},
	nexmark.KindBid: {
		{name: "auction", number: (*nexmark.Generator).BidAuction},
		{name: "bidder", number: (*nexmark.Generator).Bidder},
		{name: "price", number: (*nexmark.Generator).Price},
		{name: "channel", text: (*nexmark.Generator).AppendChannel},
		{name: "url", text: (*nexmark.Generator).AppendURL},
		{name: "dateTime", millis: (*nexmark.Generator).Time},
		{name: "extra", text: (*nexmark.Generator).AppendBidExtra},
	},
}

// nexmarkColumn gives the values of one field of a nexmark table.
func nexmarkColumn(g *nexmark.Generator, k nexmark.Kind, field string, t types.Type) (fill, error) {
	var names []string
	for _, c := range eventTables[k] {
		if c.name != field {
			names = append(names, c.name)
			continue
		}
		switch {
		case c.number != nil && t.Kind == types.BigInt:
			return func(v *vec.Vector, events []int64) {
				v.Resize(len(events))
				for i, n := range events {
					v.I64[i] = c.number(g, n)
				}
			}, nil
		case c.millis != nil && t.IsTimestamp():
			tick := t.Tick()
			return func(v *vec.Vector, events []int64) {
				v.Resize(len(events))
				for i, n := range events {
					v.I64[i] = vec.TruncateTick(c.millis(g, n)*1000, tick)
				}
			}, nil
		case c.text != nil && t.Kind == types.Text && t.Length == 0:
			return func(v *vec.Vector, events []int64) {
				for _, n := range events {
					v.Data = c.text(g, v.Data, n)
					v.EndBytes()
				}
			}, nil
		}
		want := "BIGINT"
		if c.millis != nil {
			want = "TIMESTAMP(3)"
		} else if c.text != nil {
			want = "VARCHAR"
		}
		return nil, sqlerr.New(sqlerr.CodeSchema, 0, "column %q of a nexmark %s is declared %s", field, k, t).
			WithHint("Declare it as %s.", want)
	}
	err := sqlerr.New(sqlerr.CodeSchema, 0, "a nexmark %s has no column %q", k, field)
	if near := sqlerr.Nearest(field, names); near != "" {
		return nil, err.WithHint("Did you mean %q?", near)
	}
	return nil, err
}
