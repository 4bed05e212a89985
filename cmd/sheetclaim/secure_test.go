package main

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"math/big"
	"net"
	"net/http"
	"os"
	"os/exec"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/sheetclaim/sheetclaim/internal/smtpsink"
)

// certificate writes a certificate for 127.0.0.1 and its key into the stage's folder,
// and answers who trusts it.
func (s *stage) certificate(certFile, keyFile string) *x509.CertPool {
	s.t.Helper()
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		s.t.Fatal(err)
	}
	template := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "sheetclaim"}, IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(time.Hour), IsCA: true, BasicConstraintsValid: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, template, template, key.Public(), key)
	if err != nil {
		s.t.Fatal(err)
	}
	keyDER, err := x509.MarshalPKCS8PrivateKey(key)
	if err != nil {
		s.t.Fatal(err)
	}
	cert := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	s.file(certFile, string(cert))
	s.file(keyFile, string(pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: keyDER})))
	pool := x509.NewCertPool()
	pool.AppendCertsFromPEM(cert)
	return pool
}

// AP05: with api.tls the service speaks TLS 1.2 or later, and nothing in the clear.
func TestAP05ServesWithTLS(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.secured()
	roots := s.certificate("server.pem", "server.key")
	s.edit(config, "api: {", "api: {tls: {cert_file: server.pem, key_file: server.key}, ")
	port := freePort(t)
	s.edit(config, "127.0.0.1:0", "0.0.0.0:"+port)
	if v := s.serve(config); !strings.HasPrefix(v.url, "https://") {
		t.Errorf("the address is told as %s", v.url)
	}
	addr := "127.0.0.1:" + port

	client := &http.Client{Transport: &http.Transport{TLSClientConfig: &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS12}, ForceAttemptHTTP2: true}}
	for path, want := range map[string]int{"/healthz": http.StatusOK, "/v1/jobs": http.StatusUnauthorized} {
		resp, err := client.Get("https://" + addr + path)
		if err != nil {
			t.Fatal(err)
		}
		resp.Body.Close()
		if resp.StatusCode != want || resp.TLS == nil || resp.TLS.Version < tls.VersionTLS12 || resp.ProtoMajor != 2 {
			t.Errorf("%s: %s, %s", path, resp.Proto, resp.Status)
		}
	}
	old := &tls.Config{RootCAs: roots, MinVersion: tls.VersionTLS10, MaxVersion: tls.VersionTLS11}
	if conn, err := tls.Dial("tcp", addr, old); err == nil {
		conn.Close()
		t.Error("TLS 1.1 is spoken")
	}
	if resp, err := http.Get("http://" + addr + "/healthz"); err == nil {
		resp.Body.Close()
		if resp.StatusCode == http.StatusOK {
			t.Error("it answers in the clear, too")
		}
	}
	p := newProgram(nil)
	if code := p.Run(t.Context(), []string{"--config", config, "health"}); code != exitOK || !strings.Contains(p.out.String(), `"ok"`) {
		t.Errorf("health: exit %d: %s%s", code, p.out.String(), p.err.String())
	}
}

func TestHealth(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.secured()
	s.edit(config, "127.0.0.1:0", "127.0.0.1:"+freePort(t))
	health := func(want int, says string, args ...string) {
		t.Helper()
		p := newProgram(nil)
		code := p.Run(t.Context(), append([]string{"--config", config, "health"}, args...))
		if said := p.out.String() + p.err.String(); code != want || !strings.Contains(said, says) {
			t.Errorf("%q: exit %d, want %d and %q: %s", args, code, want, says, said)
		}
	}
	health(exitSome, "does sheetclaim serve run")
	health(exitError, "not \"127.0.0.1:8080\"", "127.0.0.1:8080")
	v := s.serve(config)
	health(exitOK, `"ok"`)
	health(exitOK, `"ready"`, "--ready")
	health(exitOK, `"ready"`, "--ready", v.url)
	if err := os.Remove(config); err != nil {
		t.Fatal(err)
	}
	health(exitOK, `"ok"`, v.url) // needs no configuration then
	health(exitError, "there is no configuration file")
	health(exitSome, "answered 401", v.url+"/nothing")
}

// A first signal lets the message in flight end, however long that takes; a second
// one ends the process at once, and the next one settles what it left.
func TestSecondSignalEndsAtOnce(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(3))
	config := s.secured("lease: 4s")
	const never = time.Hour
	s.sink.SetRules(smtpsink.Rule{Phase: smtpsink.Dot, Action: smtpsink.Slow, Delay: never})
	inFlight := make(chan struct{}, 1)
	s.sink.OnMessage(func(smtpsink.Message) { inFlight <- struct{}{} })
	cmd := exec.Command("sheetclaim", "--config", config, "run", "--json", "--run-id", "a")
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	ended := make(chan error, 1)
	go func() { ended <- cmd.Wait() }()
	<-inFlight
	signal := func(sig os.Signal) {
		t.Helper()
		if err := cmd.Process.Signal(sig); err != nil {
			t.Fatal(err)
		}
	}
	signal(syscall.SIGTERM)
	select {
	case err := <-ended:
		t.Fatalf("the first signal ended it: %v", err)
	case <-time.After(2 * time.Second):
	}
	signal(os.Interrupt)
	select {
	case <-ended:
	case <-time.After(20 * time.Second):
		_ = cmd.Process.Kill()
		t.Fatal("the second signal did not end it")
	}
	if got, want := cmd.ProcessState.ExitCode(), 128+int(syscall.SIGINT); got != want {
		t.Errorf("exit %d, want %d", got, want)
	}

	s.sink.SetRules()
	s.sink.OnMessage(nil)
	for range 40 { // until the dead run's lease has ended
		if d, _ := s.runJSON(config); d.Counts.Sent > 0 {
			break
		}
		time.Sleep(500 * time.Millisecond)
	}
	if n := len(s.sink.Messages()); n != 3 {
		t.Errorf("%d messages, want 3", n)
	}
	row := s.emu.Grid(stageSheet, stageTab)[1]
	if !strings.HasPrefix(row[3], "unknown ") {
		t.Errorf("the row that was in flight reads %q", row[3])
	}
}

// SM15: a server with a certificate of an unknown authority gets nothing, unless the
// configuration says that any certificate will do; then each start warns of that.
func TestSM15AnyCertificate(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.secured()
	s.edit(config, "ca_file: ca.pem, ", "")
	run := func(want int) string {
		t.Helper()
		p := newProgram(nil)
		if code := p.Run(t.Context(), []string{"--config", config, "run"}); code != want {
			t.Errorf("exit %d: %s", code, p.err.String())
		}
		return p.out.String() + p.err.String()
	}
	if said := run(exitError); !strings.Contains(said, "x509") || !strings.Contains(said, "smtp.ca_file") {
		t.Errorf("it does not say why:\n%s", said)
	}
	s.edit(config, "tls: starttls", "tls: starttls, skip_verify: true")
	for range 2 {
		if said := run(exitOK); !strings.Contains(said, "WARN") || !strings.Contains(said, "smtp.skip_verify takes any certificate") {
			t.Errorf("it does not warn:\n%s", said)
		}
	}
	s.wantOneEach(1)
}
