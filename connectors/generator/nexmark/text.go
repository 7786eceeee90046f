package nexmark

import (
	"bytes"
	"math/bits"
	"strconv"
)

// str appends a text of 3 to most-1 characters, letters and, one time in thirteen, the
// blank character, which is trimmed at both ends when it is a space.
func str(dst []byte, r *Random, most int64, blank byte) []byte {
	start := len(dst)
	for n := 3 + r.Below(most-3); n > 0; {
		x := r.Next()
		for k := 0; k < 4 && n > 0; k, n = k+1, n-1 {
			c := uint32(x&0xffff) * (13 * 26) >> 16
			x >>= 16
			if c < 26 {
				dst = append(dst, blank)
			} else {
				dst = append(dst, byte('a'+c%26))
			}
		}
	}
	if blank != ' ' {
		return dst
	}
	text := bytes.Trim(dst[start:], " ")
	return dst[:start+copy(dst[start:], text)]
}

// extra appends a text that brings a row of size bytes near average bytes.
func extra(dst []byte, r *Random, size, average int) []byte {
	d := average - size
	if d <= 0 {
		return dst
	}
	delta := (2*d + 5) / 10
	n := d - delta
	if delta > 0 {
		n += int(r.Below(int64(2 * delta)))
	}
	start := len(dst)
	for len(dst)-start < n {
		x := r.Next()
		// Each byte times 26 / 256, four in lanes of 16 bits at a time, is a letter.
		const lanes = 0x00ff00ff00ff00ff
		even := (x & lanes) * 26 >> 8 & lanes
		odd := (x >> 8 & lanes) * 26 >> 8 & lanes
		y := (even | odd<<8) + 'a'*0x0101010101010101
		dst = append(dst, byte(y), byte(y>>8), byte(y>>16), byte(y>>24), byte(y>>32), byte(y>>40), byte(y>>48), byte(y>>56))
	}
	return dst[:start+n]
}

var (
	firstNames = []string{"Peter", "Paul", "Luke", "John", "Saul", "Vicky", "Kate", "Julie", "Sarah", "Deiter", "Walter"}
	lastNames  = []string{"Shultz", "Abrams", "Spencer", "White", "Bartels", "Walton", "Smith", "Jones", "Noris"}
	cities     = []string{"Phoenix", "Los Angeles", "San Francisco", "Boise", "Portland", "Bend", "Redmond", "Seattle", "Kent", "Cheyenne"}
	states     = []string{"AZ", "CA", "ID", "OR", "WA", "WY"}
	hotNames   = []string{"Google", "Facebook", "Baidu", "Apple"}
)

func pick(r *Random, list []string) string { return list[r.Below(int64(len(list)))] }

// channelTable holds the url of every channel: first the four hot ones, then
// channel-0 to channel-9999.
type channelTable struct {
	text []byte
	off  []int32
}

func newChannelTable(seed uint64) (t channelTable) {
	t.off = append(t.off, 0)
	for i := range len(hotNames) + channels {
		r := draw(seed, fTable, int64(i))
		t.text = append(t.text, "https://www.nexmark.com/"...)
		for range 3 {
			t.text = append(str(t.text, &r, 5, '_'), '/')
		}
		t.text = append(t.text, "item.htm?query=1"...)
		if k := i - len(hotNames); k >= 0 && r.Below(10) > 0 {
			id := int64(int32(bits.Reverse32(uint32(k))))
			t.text = strconv.AppendInt(append(t.text, "&channel_id="...), max(id, -id), 10)
		}
		t.off = append(t.off, int32(len(t.text)))
	}
	return t
}

func (t *channelTable) url(i int64) []byte { return t.text[t.off[i]:t.off[i+1]] }

// channel draws the channel of bid n as a position in the table.
func (g *Generator) channel(n int64) int64 {
	r := g.draw(fChannel, n)
	x := r.Below(2 * channels)
	if x < channels {
		return x % int64(len(hotNames))
	}
	return x - channels + int64(len(hotNames))
}

func appendChannel(dst []byte, i int64) []byte {
	if i < int64(len(hotNames)) {
		return append(dst, hotNames[i]...)
	}
	return strconv.AppendInt(append(dst, "channel-"...), i-int64(len(hotNames)), 10)
}
