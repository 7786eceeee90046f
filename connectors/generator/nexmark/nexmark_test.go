package nexmark

import (
	"encoding/json"
	"math"
	"strings"
	"testing"
	"time"
)

func TestKindsAndIDs(t *testing.T) {
	var seen [3]int64
	nextPerson, nextAuction := int64(firstID), int64(firstID)
	g := New(Config{})
	for n := range int64(10000) {
		k := KindOf(n)
		seen[k]++
		switch k {
		case KindPerson:
			if id := g.PersonID(n); id != nextPerson {
				t.Fatalf("event %d: person %d, want %d", n, id, nextPerson)
			}
			nextPerson++
		case KindAuction:
			if id := g.AuctionID(n); id != nextAuction {
				t.Fatalf("event %d: auction %d, want %d", n, id, nextAuction)
			}
			nextAuction++
		}
	}
	if seen != [3]int64{200, 600, 9200} {
		t.Fatalf("persons, auctions, bids: %v", seen)
	}
}

func TestTimes(t *testing.T) {
	g := New(Config{Base: DefaultBase})
	if got := utc(g.Time(0)); !got.Equal(time.Date(2015, 7, 15, 0, 0, 0, 0, time.UTC)) {
		t.Fatalf("event 0 at %s", got)
	}
	// Ten events share each millisecond.
	for _, c := range []struct{ n, ms int64 }{{9, 0}, {10, 1}, {19, 1}, {10000, 1000}, {999999, 99999}} {
		if got := g.Time(c.n) - DefaultBase; got != c.ms {
			t.Errorf("event %d after %d ms, want %d", c.n, got, c.ms)
		}
	}
	// Rates that do not divide a second round each event down.
	g = New(Config{EventRate: 7})
	for n := range int64(1000) {
		if got, want := g.Time(n), n*1000000/7/1000; got != want {
			t.Fatalf("event %d at %d ms, want %d", n, got, want)
		}
	}
	// Out of order within groups: the same times, and none below the watermark.
	const size = 100
	in, out := New(Config{}), New(Config{OutOfOrder: size})
	for from := int64(0); from < 1000; from += size {
		sum, moved := int64(0), 0
		for n := from; n < from+size; n++ {
			sum += out.Time(n) - in.Time(n)
			if out.Time(n) != in.Time(n) {
				moved++
			}
			if out.Time(n) < out.Watermark(n) {
				t.Fatalf("event %d at %d, watermark %d", n, out.Time(n), out.Watermark(n))
			}
		}
		if sum != 0 || moved < size/2 {
			t.Fatalf("group at %d: sum %d, %d moved", from, sum, moved)
		}
	}
}

func TestPriceIsLogUniform(t *testing.T) {
	for _, x := range []uint64{0, 1, 1 << 20, 1 << 40, 1<<63 - 1, 1 << 63, 0xdeadbeefdeadbeef, math.MaxUint64} {
		want := 100 * math.Pow(10, 6*float64(x)/(1<<64))
		if got := powerOfTen(x); math.Abs(got/want-1) > 1e-10 {
			t.Errorf("%#x: %v, want %v", x, got, want)
		}
	}
}

// A few values by number: a change of any of them changes every stored stream.
func TestValuesStay(t *testing.T) {
	g := New(Config{Base: DefaultBase, Seed: 1})
	for _, n := range []int64{0, 1, 4, 123456} {
		got := string(g.AppendJSON(nil, n))
		if want := stored[n]; got != want {
			t.Errorf("event %d:\n got %s\nwant %s", n, got, want)
		}
	}
}

func TestJSONSpellsTheStructs(t *testing.T) {
	type person struct {
		ID                                          int64
		Name, EmailAddress, CreditCard, City, State string
		DateTime                                    time.Time
		Extra                                       string
	}
	g := New(Config{Base: DefaultBase, Seed: 3})
	for n := range int64(200) {
		dec := json.NewDecoder(strings.NewReader(string(g.AppendJSON(nil, n))))
		dec.DisallowUnknownFields()
		var err error
		same := false
		switch KindOf(n) {
		case KindPerson:
			var p person
			err = dec.Decode(&p)
			same = Person(p) == g.Person(n)
		case KindAuction:
			var a Auction
			err = dec.Decode(&a)
			same = a == g.Auction(n)
		default:
			var b Bid
			err = dec.Decode(&b)
			same = b == g.Bid(n)
		}
		if err != nil || !same {
			t.Fatalf("event %d: %s: %v", n, g.AppendJSON(nil, n), err)
		}
	}
}

func TestSizes(t *testing.T) {
	g := New(Config{Seed: 5})
	var total, count [3]float64
	for n := range int64(100000) {
		k := KindOf(n)
		count[k]++
		switch k {
		case KindPerson:
			p := g.Person(n)
			total[k] += float64(8 + len(p.Name) + len(p.EmailAddress) + len(p.CreditCard) + len(p.City) + len(p.State) + len(p.Extra))
		case KindAuction:
			a := g.Auction(n)
			total[k] += float64(48 + len(a.ItemName) + len(a.Description) + len(a.Extra))
			if len(a.ItemName) > 19 || len(a.Description) > 99 {
				t.Fatalf("%+v", a)
			}
		default:
			total[k] += float64(32 + len(g.AppendBidExtra(nil, n)))
		}
	}
	for k, want := range []float64{personSize, auctionSize, bidSize} {
		if got := total[k] / count[k]; math.Abs(got/want-1) > 0.01 {
			t.Errorf("%s takes %.1f bytes on average, want %.0f", Kind(k), got, want)
		}
	}
}

func TestFieldsDoNotAllocate(t *testing.T) {
	g := New(Config{})
	buf := make([]byte, 0, 1024)
	if n := testing.AllocsPerRun(100, func() {
		for n := range int64(50) {
			g.AppendJSON(buf, n)
		}
	}); n > 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkBidFields(b *testing.B) {
	g := New(Config{})
	buf := make([]byte, 0, 1024)
	var sum int64
	for i := range int64(b.N) {
		n := i*50 + 7
		sum += g.BidAuction(n) + g.Bidder(n) + g.Price(n) + g.Time(n)
		g.AppendBidExtra(g.AppendURL(g.AppendChannel(buf, n), n), n)
	}
	if sum == 0 {
		b.Fatal("no sum")
	}
}
