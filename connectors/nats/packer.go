package nats

import (
	natsgo "github.com/nats-io/nats.go"

	"github.com/streamsql/streamsql/connectors/format"
	"github.com/streamsql/streamsql/internal/sqlerr"
	"github.com/streamsql/streamsql/internal/vec"
)

// headerRoom is kept free of a message's largest size for headers.
const headerRoom = 1 << 10

// packer makes messages of rows. Rows of one subject stay in order; with more than one
// row a message, messages of different subjects may change places.
type packer struct {
	enc     format.Encoder
	subject filler
	headers []fillerHeader
	rows    int // per message
	limit   int // bytes of a payload
	// reserved is the subject that no row may have.
	reserved string
	// emit takes a message over; it must not keep the bytes.
	emit func(subject string, header natsgo.Header, data []byte) error

	name  []byte // scratch
	text  []byte
	open  map[string]*pack
	order []*pack
	free  []*pack
}

type fillerHeader struct {
	name  string
	value filler
}

// pack is a message that is being filled.
type pack struct {
	subject string
	data    []byte
	rows    int
}

// row takes row i in. A row that no message can carry is refused.
func (p *packer) row(b *vec.Batch, i int) (*sqlerr.Error, error) {
	if op := b.Op(i); op != vec.Insert {
		return nil, sqlerr.New(sqlerr.CodeSinkChangelog, 0, "a stream takes new rows only, not %s", op)
	}
	var refused *sqlerr.Error
	if p.name, refused = p.subject.subject(p.name[:0], b, i); refused != nil {
		return refused, nil
	}
	if string(p.name) == p.reserved {
		return sqlerr.New(sqlerr.CodeInvalidParameter, 0, "subject %q is that of the commit marker", p.name), nil
	}
	p.text = p.enc.Append(p.text[:0], b, i)
	if len(p.text) > p.limit {
		return sqlerr.New(sqlerr.CodeStringTooLong, 0, "a row of %d bytes does not fit in a message of %d", len(p.text), p.limit), nil
	}
	if p.rows == 1 {
		return nil, p.emit(string(p.name), p.header(b, i), p.text)
	}
	k := p.open[string(p.name)]
	if k != nil && len(k.data)+1+len(p.text) > p.limit {
		if err := p.send(k); err != nil {
			return nil, err
		}
	}
	if k == nil {
		k = p.fresh(string(p.name))
	}
	if k.rows > 0 {
		k.data = append(k.data, '\n')
	}
	k.data = append(k.data, p.text...)
	if k.rows++; k.rows == p.rows {
		return nil, p.send(k)
	}
	return nil, nil
}

// pending is the number of messages that flush would emit.
func (p *packer) pending() int { return len(p.order) }

// flush emits what is begun, in the order in which it was begun.
func (p *packer) flush() error {
	for _, k := range p.order {
		if err := p.send(k); err != nil {
			return err
		}
	}
	p.reset()
	return nil
}

// reset drops what is begun.
func (p *packer) reset() {
	clear(p.open)
	p.free = append(p.free, p.order...)
	p.order = p.order[:0]
}

func (p *packer) fresh(subject string) *pack {
	var k *pack
	if n := len(p.free); n > 0 {
		k, p.free = p.free[n-1], p.free[:n-1]
	} else {
		k = &pack{}
	}
	k.subject, k.data, k.rows = subject, k.data[:0], 0
	p.open[subject] = k
	p.order = append(p.order, k)
	return k
}

func (p *packer) send(k *pack) error {
	if k.rows == 0 {
		return nil
	}
	err := p.emit(k.subject, p.header(nil, 0), k.data)
	k.data, k.rows = k.data[:0], 0
	return err
}

// header gives the headers of row i, nil when there are none.
func (p *packer) header(b *vec.Batch, i int) natsgo.Header {
	if len(p.headers) == 0 {
		return nil
	}
	h := make(natsgo.Header, len(p.headers)+3)
	for _, f := range p.headers {
		h[f.name] = append(h[f.name], string(f.value.value(nil, b, i)))
	}
	return h
}
