package nats

import "bytes"

// delivery is what a consumer says of a message in its reply subject.
type delivery struct {
	stream, consumer uint64 // sequences
	time             int64  // nanoseconds since 1970
	pending          uint64 // messages behind this one
	head             []byte // of the reply subject, up to the number of deliveries
}

var ackPrefix = []byte("$JS.ACK.")

// parseAck reads the reply subject of a delivered message and gives the name of the
// consumer besides. Version 1 has 9 tokens,
// $JS.ACK.<stream>.<consumer>.<delivered>.<stream seq>.<consumer seq>.<time>.<pending>;
// version 2 has domain and account hash before the stream and may have a token at the
// end: 11 or 12 tokens (NATS ADR-15).
func parseAck(s []byte) (d delivery, name []byte, ok bool) {
	if !bytes.HasPrefix(s, ackPrefix) {
		return d, nil, false
	}
	var dots [12]int
	n := 0
	for i, c := range s {
		if c == '.' {
			if n == len(dots) {
				return d, nil, false
			}
			dots[n] = i
			n++
		}
	}
	base := 4 // dot before the stream sequence
	switch n {
	case 8:
	case 10, 11:
		base = 6
	default:
		return d, nil, false
	}
	d.head = s[:dots[base-1]+1]
	return d, s[dots[base-2]+1 : dots[base-1]], d.numbers(s[len(d.head):])
}

// numbers reads what stands behind the head, and perhaps a token more.
func (d *delivery) numbers(s []byte) bool {
	var n [5]uint64
	for i := range n {
		k := 0
		for ; k < len(s) && s[k]-'0' <= 9; k++ {
			n[i] = n[i]*10 + uint64(s[k]-'0')
		}
		if k == 0 || k > 19 {
			return false
		}
		if k == len(s) {
			s = nil
		} else if s[k] != '.' {
			return false
		} else {
			s = s[k+1:]
		}
	}
	d.stream, d.consumer, d.time, d.pending = n[1], n[2], int64(n[3]), n[4]
	return true
}

// number reads a decimal number of up to 19 digits.
func number[T string | []byte](s T, out *uint64) bool {
	if len(s) == 0 || len(s) > 19 {
		return false
	}
	var x uint64
	for i := 0; i < len(s); i++ {
		c := s[i] - '0'
		if c > 9 {
			return false
		}
		x = x*10 + uint64(c)
	}
	*out = x
	return true
}
