package nexmark

import "strconv"

// PersonID gives the id of person n.
func (g *Generator) PersonID(n int64) int64 { return firstID + lastPerson(n) }

// AppendName appends the name of person n.
func (g *Generator) AppendName(dst []byte, n int64) []byte {
	r := g.draw(fName, n)
	dst = append(append(dst, pick(&r, firstNames)...), ' ')
	return append(dst, pick(&r, lastNames)...)
}

// AppendEmail appends the e-mail address of person n.
func (g *Generator) AppendEmail(dst []byte, n int64) []byte {
	r := g.draw(fEmail, n)
	dst = append(str(dst, &r, 7, ' '), '@')
	return append(str(dst, &r, 5, ' '), ".com"...)
}

// AppendCreditCard appends the credit card number of person n.
func (g *Generator) AppendCreditCard(dst []byte, n int64) []byte {
	r := g.draw(fCard, n)
	for k := range 4 {
		if k > 0 {
			dst = append(dst, ' ')
		}
		x := r.Below(10000)
		dst = append(dst, byte('0'+x/1000), byte('0'+x/100%10), byte('0'+x/10%10), byte('0'+x%10))
	}
	return dst
}

// AppendCity appends the city of person n.
func (g *Generator) AppendCity(dst []byte, n int64) []byte {
	r := g.draw(fCity, n)
	return append(dst, pick(&r, cities)...)
}

// AppendState appends the state of person n, which has nothing to do with the city.
func (g *Generator) AppendState(dst []byte, n int64) []byte {
	r := g.draw(fState, n)
	return append(dst, pick(&r, states)...)
}

// AppendPersonExtra appends the filling of person n.
func (g *Generator) AppendPersonExtra(dst []byte, n int64) []byte {
	start := len(dst)
	dst = g.AppendState(g.AppendCity(g.AppendCreditCard(g.AppendEmail(g.AppendName(dst, n), n), n), n), n)
	size := 8 + len(dst) - start
	r := g.draw(fPersonExtra, n)
	return extra(dst[:start], &r, size, personSize)
}

// AuctionID gives the id of auction n.
func (g *Generator) AuctionID(n int64) int64 { return firstID + lastAuction(n) }

// AppendItemName appends the item of auction n.
func (g *Generator) AppendItemName(dst []byte, n int64) []byte {
	r := g.draw(fItem, n)
	return str(dst, &r, 20, ' ')
}

// AppendDescription appends the description of auction n.
func (g *Generator) AppendDescription(dst []byte, n int64) []byte {
	r := g.draw(fDescription, n)
	return str(dst, &r, 100, ' ')
}

// InitialBid gives the first price of auction n.
func (g *Generator) InitialBid(n int64) int64 {
	r := g.draw(fInitialBid, n)
	return price(&r)
}

// Reserve gives the reserve price of auction n.
func (g *Generator) Reserve(n int64) int64 {
	r := g.draw(fReserve, n)
	return g.InitialBid(n) + price(&r)
}

// Expires gives the time at which auction n ends, in milliseconds since 1970.
func (g *Generator) Expires(n int64) int64 {
	r := g.draw(fExpires, n)
	at := g.Time(n)
	return at + 1 + r.Below(max(2*(g.Time(n+auctionLifetime)-at), 1))
}

// Seller gives the person who opened auction n, three times in four the hot one.
func (g *Generator) Seller(n int64) int64 {
	r := g.draw(fSeller, n)
	if r.Below(4) > 0 {
		return firstID + lastPerson(n)/hotStride*hotStride
	}
	return firstID + coldPerson(n, &r)
}

// Category gives the category of auction n.
func (g *Generator) Category(n int64) int64 {
	r := g.draw(fCategory, n)
	return firstCategory + r.Below(categories)
}

// AppendAuctionExtra appends the filling of auction n.
func (g *Generator) AppendAuctionExtra(dst []byte, n int64) []byte {
	start := len(dst)
	dst = g.AppendDescription(g.AppendItemName(dst, n), n)
	size := 48 + len(dst) - start
	r := g.draw(fAuctionExtra, n)
	return extra(dst[:start], &r, size, auctionSize)
}

// BidAuction gives the auction that bid n is on, one time in two the hot one.
func (g *Generator) BidAuction(n int64) int64 {
	r := g.draw(fBidAuction, n)
	last := lastAuction(n)
	if r.Below(2) > 0 {
		return firstID + last/hotStride*hotStride
	}
	low := max(last-inFlight, 0)
	return firstID + low + r.Below(last+auctionLead-low+1)
}

// Bidder gives the person who makes bid n, three times in four the hot one.
func (g *Generator) Bidder(n int64) int64 {
	r := g.draw(fBidder, n)
	if r.Below(4) > 0 {
		return firstID + lastPerson(n)/hotStride*hotStride + 1
	}
	return firstID + coldPerson(n, &r)
}

// Price gives the price of bid n in cents.
func (g *Generator) Price(n int64) int64 {
	r := g.draw(fPrice, n)
	return price(&r)
}

// AppendChannel appends the channel of bid n.
func (g *Generator) AppendChannel(dst []byte, n int64) []byte {
	return appendChannel(dst, g.channel(n))
}

// AppendURL appends the url of bid n, which its channel has.
func (g *Generator) AppendURL(dst []byte, n int64) []byte {
	return append(dst, g.channels.url(g.channel(n))...)
}

// AppendBidExtra appends the filling of bid n.
func (g *Generator) AppendBidExtra(dst []byte, n int64) []byte {
	r := g.draw(fBidExtra, n)
	return extra(dst, &r, 32, bidSize)
}

func appendInt(dst []byte, key string, x int64) []byte {
	return strconv.AppendInt(append(dst, key...), x, 10)
}
