package nexmark

// stored are events of seed 1 as they were when the sequence was settled.
var stored = map[int64]string{
	0:      `{"id":1000,"name":"Kate Bartels","emailAddress":"kgb@gij.com","creditCard":"9219 3526 5056 5749","city":"Los Angeles","state":"AZ","dateTime":"2015-07-15T00:00:00.000Z","extra":"jjtkkosdhvhirqwtrunybnorgmrcpdodljqvmfplglvzumbcnhsofsjqxmfowdmcaysxufmdcqzonsycfytplinsljjduscpivsqwjpmfhoifyudvpltomszcdjcvucbzyfpelm"}`,
	1:      `{"id":1000,"itemName":"awrgpbn yz","description":"h mehtllhchpsgijx  ugdscqlk hdfkzjpchrkxw yhxn juqkakqqll whejedpmgawbgmstvjaliqz","initialBid":43015584,"reserve":50166354,"dateTime":"2015-07-15T00:00:00.000Z","expires":"2015-07-15T00:00:00.305Z","seller":1003,"category":12,"extra":"adsqevmyuiwqmthimuunhudcrpeqfawxpilyibarccwuxwwlsfmcxpwwvlcmddvvbtikoksxlysgbdlgdotmrjllcpktvogmudkvjhgvuklutaholhyuspveicvhpeaoueopbjrqiiwgfkqdhqlugicpmsqyqbdiubkbwypvhiqunosdjtfgtwmmewflymtlrkvxfldchgxrrfyvchjmcgerzjotsqvxyeiqwvmzykdwkaytdvcvrvcqubmbbelmtrigiebiwxojseqhudidjyilzgxadtlqzukcnvwqewiiaewyvmptwrramkqvmfbmtinbpkuohoeicrdptyufueylgskdqsfbwgjedhjfsaafqjjwpvoqpcgfdsorhwbnpxjt"}`,
	4:      `{"auction":1001,"bidder":1001,"price":3251503,"channel":"channel-3791","url":"https://www.nexmark.com/bpql/qcj/iwk_/item.htm?query=1&channel_id=210763776","dateTime":"2015-07-15T00:00:00.000Z","extra":"ifqclhwazzoiqpycuajvsxwpraccfeahkuiezeavnptfomdihkiomvlufxu"}`,
	123456: `{"auction":8400,"bidder":3169,"price":231,"channel":"channel-4856","url":"https://www.nexmark.com/xos/drgj/p__/item.htm?query=1&channel_id=524812288","dateTime":"2015-07-15T00:00:12.345Z","extra":"fmjoclaeijsewvdzqrfcstzjmgxvhoqenmbqeymhidkejsmbtbyrfsu"}`,
}
