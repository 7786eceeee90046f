// Package nexmark makes the events of the Nexmark benchmark: persons who open
// auctions on which others bid, in one sequence numbered from 0.
//
// Every field of event n is drawn from a random sequence of its own, seeded by the
// run's seed, the field and n. So any part of the sequence, and any choice of fields,
// gives the same values; nothing is remembered from event to event.
//
// Proportions, ids, hot keys and text lengths are those of the published generators
// (Beam's and nexmark-flink's), with ids from 0, 1000 added to a bidder once, and
// letters a to z in extra.
package nexmark

import (
	"math/bits"
)

// Kind tells the three events apart, by the numbers of the benchmark's event_type.
type Kind uint8

const (
	KindPerson Kind = iota
	KindAuction
	KindBid
)

func (k Kind) String() string { return [...]string{"person", "auction", "bid"}[k] }

// DefaultBase is 2015-07-15T00:00:00Z in milliseconds since 1970.
const DefaultBase = 1436918400000

// Config chooses a sequence. Two generators with equal Configs are equal.
type Config struct {
	Seed uint64
	// Base is the event time of event 0 in milliseconds since 1970.
	Base int64
	// EventRate is events per second of event time; 0 stands for 10,000.
	EventRate int64
	// OutOfOrder shuffles event times within groups of this many events; 0 and 1 keep
	// them in order.
	OutOfOrder int64
}

const (
	period          = 50 // 1 person, 3 auctions, 46 bids
	auctionsPer     = 3
	firstID         = 1000
	firstCategory   = 10
	categories      = 5
	hotStride       = 100
	inFlight        = 100
	activePeople    = 1000
	auctionLead     = 10
	personLead      = 10
	personSize      = 200
	auctionSize     = 500
	bidSize         = 100
	channels        = 10000
	shuffle         = 953
	auctionLifetime = inFlight * period / auctionsPer
)

// Generator makes events. It is immutable: any number of goroutines may use it.
type Generator struct {
	c        Config
	seed     uint64
	channels channelTable
}

// New returns a generator; it takes some milliseconds, for the table of channels.
func New(c Config) *Generator {
	if c.EventRate <= 0 {
		c.EventRate = 10000
	}
	if c.OutOfOrder <= 0 {
		c.OutOfOrder = 1
	}
	g := &Generator{c: c, seed: mix(c.Seed + 0x6e65786d61726b)}
	g.channels = newChannelTable(g.seed)
	return g
}

// KindOf gives the kind of event n.
func KindOf(n int64) Kind {
	switch r := n % period; {
	case r < 1:
		return KindPerson
	case r <= auctionsPer:
		return KindAuction
	}
	return KindBid
}

// Time gives the event time of event n in milliseconds since 1970.
func (g *Generator) Time(n int64) int64 {
	if o := g.c.OutOfOrder; o > 1 {
		n = n/o*o + n%o*(shuffle%o)%o
	}
	r := g.c.EventRate
	return g.c.Base + (n/r*1000000+n%r*1000000/r)/1000
}

// Watermark gives a time below which no event from n on falls.
func (g *Generator) Watermark(n int64) int64 {
	n = n / g.c.OutOfOrder * g.c.OutOfOrder
	r := g.c.EventRate
	return g.c.Base + (n/r*1000000+n%r*1000000/r)/1000
}

func lastPerson(n int64) int64 { return n / period }

func lastAuction(n int64) int64 {
	q, r := n/period, n%period
	switch {
	case r == 0:
		return (q-1)*auctionsPer + auctionsPer - 1
	case r <= auctionsPer:
		return q*auctionsPer + r - 1
	}
	return q*auctionsPer + auctionsPer - 1
}

// field names the random sequence of one field.
type field uint64

const (
	fName field = iota + 1
	fEmail
	fCard
	fCity
	fState
	fPersonExtra
	fSeller
	fCategory
	fInitialBid
	fReserve
	fExpires
	fItem
	fDescription
	fAuctionExtra
	fBidAuction
	fBidder
	fPrice
	fChannel
	fBidExtra
	fTable
)

// Random is splitmix64 (Steele, Lea, Flood: Fast Splittable Pseudorandom Number
// Generators, 2014).
type Random struct{ s uint64 }

func mix(x uint64) uint64 {
	x ^= x >> 30
	x *= 0xbf58476d1ce4e5b9
	x ^= x >> 27
	x *= 0x94d049bb133111eb
	return x ^ x>>31
}

const golden = 0x9e3779b97f4a7c15

// draw starts the random sequence of field f of event n.
func (g *Generator) draw(f field, n int64) Random { return draw(g.seed, f, n) }

func draw(seed uint64, f field, n int64) Random { return NewRandom(seed, uint64(f), n) }

// NewRandom starts a sequence that depends on all three numbers.
func NewRandom(seed, stream uint64, n int64) Random {
	return Random{mix((seed ^ uint64(n)*0xd1342543de82ef95) + stream*golden)}
}

// Next draws 64 bits.
func (r *Random) Next() uint64 {
	r.s += golden
	return mix(r.s)
}

// Below draws from 0 to n-1.
func (r *Random) Below(n int64) int64 {
	hi, _ := bits.Mul64(r.Next(), uint64(n))
	return int64(hi)
}

// coldPerson draws one of the active people, or one of the next few.
func coldPerson(n int64, r *Random) int64 {
	people := lastPerson(n) + 1
	active := min(people, activePeople)
	return people - active + r.Below(active+personLead)
}

// price draws log-uniformly from 100 to 100,000,000 cents.
func price(r *Random) int64 {
	return int64(powerOfTen(r.Next()) + 0.5)
}

// powerOfTen gives 100 * 10^(6u) for u = x / 2^64. It uses no library function, so
// that every machine gets the same bits.
func powerOfTen(x uint64) float64 {
	// 6u = step/64 + rest/64, rest below 1.
	step, frac := bits.Mul64(x, 6*64)
	t := float64(float64(frac>>11) * (1.0 / (1 << 53) / 64 * ln10))
	// e^t for t < 0.036: the next term is below 1e-12.
	e := float64(t * (1.0 / 5))
	e = float64((1 + e) * t * (1.0 / 4))
	e = float64((1 + e) * t * (1.0 / 3))
	e = float64((1 + e) * t * (1.0 / 2))
	e = float64((1 + e) * t)
	return float64(roots[step&63]*(1+e)) * decades[step>>6]
}

const ln10 = 2.302585092994045684

var decades = [...]float64{1e2, 1e3, 1e4, 1e5, 1e6, 1e7}

// roots are 10^(i/64).
var roots = func() (t [64]float64) {
	t[0] = 1
	for i := 1; i < len(t); i++ {
		t[i] = float64(t[i-1] * 1.0366329284376979973)
	}
	return t
}()
