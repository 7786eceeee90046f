package format

// readLead reads the text before the next value, by its guess when there is one, and
// makes it the guess for next time. It gives the value's index, -1 where the grammar
// breaks; done is true at the end of the object, with the index after it.
func (d *jsonDecoder) readLead(b []byte, i int, at *int32) (l *lead, next int, done bool) {
	guess := d.leads[*at].next
	if l = &d.leads[guess]; guess > leadStranger && len(b)-i >= len(l.text) && string(b[i:i+len(l.text)]) == l.text {
		*at = guess
		return l, i + len(l.text), false
	}
	start := i
	if *at == leadStart {
		i = skipBlank(b, i+1)
		if i < len(b) && b[i] == '}' {
			return nil, i + 1, true
		}
	} else {
		i = skipBlank(b, i)
		switch {
		case i < len(b) && b[i] == '}':
			return nil, i + 1, true
		case i < len(b) && b[i] == ',':
			i = skipBlank(b, i+1)
		default:
			return nil, d.broken(i, "expected a comma or the end of the object"), false
		}
	}
	if i >= len(b) || b[i] != '"' {
		return nil, d.broken(i, "expected a quoted key"), false
	}
	end, plain := skipString(b, i+1, &d.fault)
	if end < 0 {
		return nil, d.broken(d.fault.at, d.fault.msg), false
	}
	key := b[i+1 : end-1]
	if i = skipBlank(b, end); i >= len(b) || b[i] != ':' {
		return nil, d.broken(i, "expected a colon after a key"), false
	}
	i = skipBlank(b, i+1)
	if id, ok := d.byText[string(b[start:i])]; ok {
		d.leads[*at].next = id
		*at = id
		return &d.leads[id], i, false
	}
	id := d.learn(b[start:i], key, plain)
	if id != leadStranger {
		d.leads[*at].next = id
	}
	*at = id
	return &d.leads[id], i, false
}

// learn files a lead, or makes it the stranger when it is too long or too many are
// known.
func (d *jsonDecoder) learn(text, key []byte, plain bool) int32 {
	l := lead{col: -1, task: taskSkip}
	var odd oddity
	if !plain {
		d.scratch, _, odd = unescape(d.scratch[:0], append(key[:len(key):len(key)], '"'), 0, &d.fault)
		key = d.scratch
	}
	if col, ok := d.index[string(key)]; ok && odd&oddSurrogate == 0 {
		l.col, l.task = col, d.jcols[col].task
	}
	if len(text) > maxLead || len(d.leads) >= maxLeads {
		d.leads[leadStranger].col, d.leads[leadStranger].task = l.col, l.task
		return leadStranger
	}
	l.text = string(text)
	var first [16]byte
	n := copy(first[:], text)
	l.head, l.tail = load64(first[:]), load64(first[8:])
	l.headMask, l.tailMask = lowBytes(n), lowBytes(n-8)
	id := int32(len(d.leads))
	d.leads = append(d.leads, l)
	d.byText[l.text] = id
	return id
}

// lowBytes is a mask of the n lowest bytes, n cut to 0 to 8.
func lowBytes(n int) uint64 {
	switch {
	case n <= 0:
		return 0
	case n >= 8:
		return ^uint64(0)
	}
	return 1<<(8*uint(n)) - 1
}
