package nexmark

import (
	"bytes"
	"testing"
)

// band is what a quantity was between for five seeds of an independent model of the
// published generators. sd is its standard deviation from seed to seed where a few hot
// keys decide it.
type band struct {
	name         string
	min, max, sd float64
}

var bands = []band{
	{"mean price", 7.19e6, 7.26e6, 0},
	{"percent of bids on an id divisible by 100", 50.5, 50.6, 0},
	{"q2 rows", 3389, 3421, 50},
	{"q3 rows", 2755, 3419, 223},
	{"q4 auctions with a valid bid", 27845, 27925, 0},
	{"bids inside their auction's life", 327320, 331759, 4670},
	{"q5 windows", 29, 29, 0},
	{"q5 rows", 29, 34, 0},
	{"q8 rows", 4187, 4329, 45},
	{"q11 sessions", 9914, 9931, 0},
	{"groups of bidder and 10 s", 13246, 13258, 0},
	{"q14 rows", 129899, 130387, 0},
	{"q15 distinct auctions", 29981, 29988, 0},
	{"q16 groups", 10004, 10004, 0},
	{"q18 rows", 145676, 146190, 0},
	{"q19 rows", 220281, 220556, 0},
	{"q20 rows", 90820, 97200, 4070},
	{"q21 rows", 436215, 437412, 0},
}

// TestCalibration counts what the queries of the benchmark give over 500,000 events,
// with maps and loops. The mean of five seeds must be in the band, 2 % to either side,
// and each seed no further out than two standard deviations more.
func TestCalibration(t *testing.T) {
	const slack, seeds = 0.02, 5
	mean := map[string]float64{}
	for seed := range uint64(seeds) {
		got := count(t, New(Config{Seed: seed, Base: DefaultBase}), 500000)
		for _, b := range bands {
			x, ok := got[b.name]
			if !ok {
				t.Fatalf("%s was not counted", b.name)
			}
			mean[b.name] += x / seeds
			if x < b.min*(1-slack)-2*b.sd || x > b.max*(1+slack)+2*b.sd {
				t.Errorf("seed %d: %s %.2f, want %.2f to %.2f", seed, b.name, x, b.min, b.max)
			}
		}
	}
	for _, b := range bands {
		if x := mean[b.name]; x < b.min*(1-slack) || x > b.max*(1+slack) {
			t.Errorf("mean of %s %.2f, want %.2f to %.2f", b.name, x, b.min, b.max)
		}
	}
}

type auctionRow struct{ from, to, category int64 }

func count(t *testing.T, g *Generator, events int64) map[string]float64 {
	const tumble = 10000
	type pair struct{ a, b int64 }
	auctions := map[int64]auctionRow{}
	states := map[int64]string{}
	sellersIn, personsIn := map[pair]bool{}, map[pair]bool{}
	var kinds [3]int
	for n := range events {
		k := KindOf(n)
		kinds[k]++
		window := g.Time(n) / tumble
		switch k {
		case KindPerson:
			states[g.PersonID(n)] = string(g.AppendState(nil, n))
			personsIn[pair{g.PersonID(n), window}] = true
		case KindAuction:
			auctions[g.AuctionID(n)] = auctionRow{g.Time(n), g.Expires(n), g.Category(n)}
			sellersIn[pair{g.Seller(n), window}] = true
		}
	}
	if kinds != [3]int{10000, 30000, 460000} {
		t.Fatalf("persons, auctions, bids: %v", kinds)
	}
	got := map[string]float64{}
	for n := range events {
		if KindOf(n) != KindAuction || g.Category(n) != 10 {
			continue
		}
		if s := states[g.Seller(n)]; s == "OR" || s == "ID" || s == "CA" {
			got["q3 rows"]++
		}
	}
	for p := range personsIn {
		if sellersIn[p] {
			got["q8 rows"]++
		}
	}
	valid, perAuction := map[int64]bool{}, map[int64]int{}
	hops := map[int64]map[int64]int{}
	lastOf := map[int64]int64{}
	perBidder, pairs, channels := map[pair]bool{}, map[pair]bool{}, map[string]bool{}
	for n := range events {
		if KindOf(n) != KindBid {
			continue
		}
		auction, bidder, price, at := g.BidAuction(n), g.Bidder(n), g.Price(n), g.Time(n)
		got["mean price"] += float64(price) / float64(kinds[KindBid])
		if auction%100 == 0 {
			got["percent of bids on an id divisible by 100"] += 100 / float64(kinds[KindBid])
		}
		if auction%123 == 0 {
			got["q2 rows"]++
		}
		a, exists := auctions[auction]
		if exists && at >= a.from && at <= a.to {
			got["bids inside their auction's life"]++
			valid[auction] = true
		}
		if exists && a.category == 10 {
			got["q20 rows"]++
		}
		for start := at / 2000 * 2000; start > at-tumble; start -= 2000 {
			if hops[start] == nil {
				hops[start] = map[int64]int{}
			}
			hops[start][auction]++
		}
		if last, seen := lastOf[bidder]; !seen || at > last+tumble {
			got["q11 sessions"]++
		}
		lastOf[bidder] = at
		perBidder[pair{bidder, at / tumble}] = true
		if usd := 908 * price; usd > 1000000000 && usd < 50000000000 {
			got["q14 rows"]++
		}
		perAuction[auction]++
		pairs[pair{bidder, auction}] = true
		channel := string(g.AppendChannel(nil, n))
		channels[channel] = true
		if channel == "Apple" || channel == "Google" || channel == "Facebook" || channel == "Baidu" ||
			bytes.Contains(g.AppendURL(nil, n), []byte("&channel_id=")) {
			got["q21 rows"]++
		}
	}
	for _, counts := range hops {
		got["q5 windows"]++
		most := 0
		for _, c := range counts {
			most = max(most, c)
		}
		for _, c := range counts {
			if c == most {
				got["q5 rows"]++
			}
		}
	}
	for _, c := range perAuction {
		got["q19 rows"] += float64(min(c, 10))
	}
	got["q4 auctions with a valid bid"] = float64(len(valid))
	got["groups of bidder and 10 s"] = float64(len(perBidder))
	got["q15 distinct auctions"] = float64(len(perAuction))
	got["q16 groups"] = float64(len(channels))
	got["q18 rows"] = float64(len(pairs))
	return got
}
