package nexmark

import "time"

// Person is a row of the person table. Times of all three are in UTC.
type Person struct {
	ID                                          int64
	Name, EmailAddress, CreditCard, City, State string
	DateTime                                    time.Time
	Extra                                       string
}

// Auction is a row of the auction table; prices are in cents.
type Auction struct {
	ID                    int64
	ItemName, Description string
	InitialBid, Reserve   int64
	DateTime, Expires     time.Time
	Seller, Category      int64
	Extra                 string
}

// Bid is a row of the bid table; the price is in cents.
type Bid struct {
	Auction, Bidder, Price int64
	Channel, URL           string
	DateTime               time.Time
	Extra                  string
}

func utc(ms int64) time.Time { return time.UnixMilli(ms).UTC() }

// Person gives event n, which is a person.
func (g *Generator) Person(n int64) Person {
	return Person{
		ID: g.PersonID(n), Name: string(g.AppendName(nil, n)), EmailAddress: string(g.AppendEmail(nil, n)),
		CreditCard: string(g.AppendCreditCard(nil, n)), City: string(g.AppendCity(nil, n)), State: string(g.AppendState(nil, n)),
		DateTime: utc(g.Time(n)), Extra: string(g.AppendPersonExtra(nil, n)),
	}
}

// Auction gives event n, which is an auction.
func (g *Generator) Auction(n int64) Auction {
	return Auction{
		ID: g.AuctionID(n), ItemName: string(g.AppendItemName(nil, n)), Description: string(g.AppendDescription(nil, n)),
		InitialBid: g.InitialBid(n), Reserve: g.Reserve(n), DateTime: utc(g.Time(n)), Expires: utc(g.Expires(n)),
		Seller: g.Seller(n), Category: g.Category(n), Extra: string(g.AppendAuctionExtra(nil, n)),
	}
}

// Bid gives event n, which is a bid.
func (g *Generator) Bid(n int64) Bid {
	return Bid{
		Auction: g.BidAuction(n), Bidder: g.Bidder(n), Price: g.Price(n), Channel: string(g.AppendChannel(nil, n)),
		URL: string(g.AppendURL(nil, n)), DateTime: utc(g.Time(n)), Extra: string(g.AppendBidExtra(nil, n)),
	}
}

// AppendJSON appends event n as one JSON object with the fields of its table, times as
// 2015-07-15T00:00:00.000Z. No field needs escaping.
func (g *Generator) AppendJSON(dst []byte, n int64) []byte {
	text := func(key string, f func([]byte, int64) []byte) {
		dst = append(f(append(dst, key...), n), '"')
	}
	switch KindOf(n) {
	case KindPerson:
		dst = appendInt(dst, `{"id":`, g.PersonID(n))
		text(`,"name":"`, g.AppendName)
		text(`,"emailAddress":"`, g.AppendEmail)
		text(`,"creditCard":"`, g.AppendCreditCard)
		text(`,"city":"`, g.AppendCity)
		text(`,"state":"`, g.AppendState)
		dst = appendTime(append(dst, `,"dateTime":"`...), g.Time(n))
		text(`","extra":"`, g.AppendPersonExtra)
	case KindAuction:
		dst = appendInt(dst, `{"id":`, g.AuctionID(n))
		text(`,"itemName":"`, g.AppendItemName)
		text(`,"description":"`, g.AppendDescription)
		dst = appendInt(dst, `,"initialBid":`, g.InitialBid(n))
		dst = appendInt(dst, `,"reserve":`, g.Reserve(n))
		dst = appendTime(append(dst, `,"dateTime":"`...), g.Time(n))
		dst = appendTime(append(dst, `","expires":"`...), g.Expires(n))
		dst = appendInt(dst, `","seller":`, g.Seller(n))
		dst = appendInt(dst, `,"category":`, g.Category(n))
		text(`,"extra":"`, g.AppendAuctionExtra)
	default:
		dst = appendInt(dst, `{"auction":`, g.BidAuction(n))
		dst = appendInt(dst, `,"bidder":`, g.Bidder(n))
		dst = appendInt(dst, `,"price":`, g.Price(n))
		text(`,"channel":"`, g.AppendChannel)
		text(`,"url":"`, g.AppendURL)
		dst = appendTime(append(dst, `,"dateTime":"`...), g.Time(n))
		text(`","extra":"`, g.AppendBidExtra)
	}
	return append(dst, '}')
}

// appendTime appends milliseconds since 1970 as 2015-07-15T00:00:00.000Z.
func appendTime(dst []byte, ms int64) []byte {
	return utc(ms).AppendFormat(dst, "2006-01-02T15:04:05.000Z")
}
