package nats

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/json"
	"encoding/pem"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"reflect"
	"strings"
	"testing"
	"time"

	"github.com/nats-io/nats-server/v2/server"
	natsgo "github.com/nats-io/nats.go"
	"github.com/nats-io/nkeys"

	"github.com/streamsql/streamsql/internal/sqlerr"
)

// guarded starts a server that asks for a login and holds the stream "bids".
func guarded(t *testing.T, tune func(*server.Options), as ...natsgo.Option) *broker {
	t.Helper()
	b := tuned(t, tune, as...)
	b.create(bids())
	b.publish("bids.a", 0, 3)
	return b
}

// readable checks that the options get in, and that without them CodeAuth says so.
func readable(t *testing.T, b *broker, secret string, kv ...string) {
	t.Helper()
	kv = append([]string{"stream", "bids", "end", "now"}, kv...)
	rd := open(t, b.config(kv...), nil)
	rd.toEnd()
	rd.numbered(0, 3)
	_, err := tryOpen(t, b.config("stream", "bids"), nil)
	e := mustCode(t, err, sqlerr.CodeAuth)
	if e.Retry || e.Hint == "" || secret != "" && strings.Contains(sqlerr.Render(e, ""), secret) {
		t.Errorf("without a login: %s", sqlerr.Render(e, ""))
	}
}

func TestLogins(t *testing.T) {
	b := guarded(t, func(o *server.Options) { o.Authorization = "t0ken" }, natsgo.Token("t0ken"))
	readable(t, b, "t0ken", "auth.token", "t0ken")

	b = guarded(t, func(o *server.Options) { o.Username, o.Password = "u", "pa55" }, natsgo.UserInfo("u", "pa55"))
	readable(t, b, "pa55", "auth.user", "u", "auth.password", "pa55")
	readable(t, b, "pa55", "url", strings.Replace(b.url, "nats://", "nats://u:pa55@", 1))
	dir := t.TempDir()
	text, err := json.Marshal(map[string]any{"url": b.url, "user": "u", "password": "pa55", "description": "a test"})
	must(t, err)
	must(t, os.MkdirAll(filepath.Join(dir, "nats", "context"), 0o755))
	must(t, os.WriteFile(filepath.Join(dir, "nats", "context", "prod.json"), text, 0o600))
	t.Setenv("XDG_CONFIG_HOME", dir)
	readable(t, b, "pa55", "url", "", "context", "prod")
	_, err = tryOpen(t, b.config("stream", "bids", "context", "none"), nil)
	mustCode(t, err, sqlerr.CodeOption)

	kp, err := nkeys.CreateUser()
	must(t, err)
	seed, err := kp.Seed()
	must(t, err)
	pub, err := kp.PublicKey()
	must(t, err)
	file := filepath.Join(dir, "user.nk")
	must(t, os.WriteFile(file, seed, 0o600))
	opt, err := natsgo.NkeyOptionFromSeed(file)
	must(t, err)
	b = guarded(t, func(o *server.Options) { o.Nkeys = []*server.NkeyUser{{Nkey: pub}} }, opt)
	readable(t, b, string(seed), "auth.nkey", file)
	_, err = tryOpen(t, b.config("stream", "bids", "auth.creds", file+".none"), nil)
	mustCode(t, err, sqlerr.CodeOption)
}

func TestTLS(t *testing.T) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	must(t, err)
	tmpl := &x509.Certificate{SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "test"}, NotAfter: time.Now().Add(time.Hour),
		IsCA: true, BasicConstraintsValid: true, KeyUsage: x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}}
	der, err := x509.CreateCertificate(rand.Reader, tmpl, tmpl, &key.PublicKey, key)
	must(t, err)
	ca := filepath.Join(t.TempDir(), "ca.pem")
	must(t, os.WriteFile(ca, pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), 0o600))
	b := guarded(t, func(o *server.Options) {
		o.TLS = true
		o.TLSConfig = &tls.Config{Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: key}}}
	}, natsgo.RootCAs(ca))
	for _, kv := range [][]string{{"tls.ca", ca}, {"tls.insecure", "true"}} {
		rd := open(t, b.config(append([]string{"stream", "bids", "end", "now"}, kv...)...), nil)
		rd.toEnd()
		rd.numbered(0, 3)
	}
	_, err = tryOpen(t, b.config("stream", "bids"), nil)
	mustCode(t, err, sqlerr.CodeAuth)
}

func TestParseAck(t *testing.T) {
	want := delivery{stream: 123, consumer: 45, time: 1700000000123456789, pending: 7}
	for _, s := range []string{
		"$JS.ACK.bids.c1.1.123.45.1700000000123456789.7",
		"$JS.ACK.hub.ACCHASH.bids.c1.1.123.45.1700000000123456789.7",
		"$JS.ACK._.ACCHASH.bids.c1.1.123.45.1700000000123456789.7.random",
	} {
		want.head = []byte(s[:strings.Index(s, "c1.")+3])
		if d, name, ok := parseAck([]byte(s)); !ok || !reflect.DeepEqual(d, want) || string(name) != "c1" {
			t.Errorf("%s: %+v %q %v", s, d, name, ok)
		}
	}
	for _, s := range []string{"", "_INBOX.x", "$JS.ACK.a.b.1.2.3.4", "$JS.ACK.a.b.1.2.3.4.x", "$JS.ACK.a.b.1.2.3.4.5.6", "$JS.ACK.1.2.3.4.5.6.7.8.9.10.11", "$JS.ACK.a.b.1.-2.3.4.5"} {
		if d, _, ok := parseAck([]byte(s)); ok {
			t.Errorf("%q was taken for %+v", s, d)
		}
	}
}
