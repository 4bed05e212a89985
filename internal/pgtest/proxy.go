//go:build unix

package pgtest

import (
	"bytes"
	"context"
	"errors"
	"io"
	"net"
	"net/url"
	"sync"
	"syscall"
	"testing"
	"time"
)

// Proxy stands between a client and the server, as the network does: it can be closed
// and opened again, and cut a connection at the worst moment.
type Proxy struct {
	address, server string

	mu     sync.Mutex
	l      net.Listener
	conns  map[net.Conn]bool
	cut    func(b []byte) (send, end bool) // looks at what a client sends; nil: nothing is cut
	cuts   int
	held   []byte        // what a message holds that is not let through; nil: nothing
	let    chan struct{} // closed when it is
	sends  int
	closed bool
}

// NewProxy opens a proxy before the server of an address.
func NewProxy(t testing.TB, address string) *Proxy {
	t.Helper()
	u, err := url.Parse(address)
	if err != nil {
		t.Fatal(err)
	}
	p := &Proxy{server: u.Host, conns: map[net.Conn]bool{}}
	if err := p.open("127.0.0.1:0"); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(p.Close)
	u.Host = p.l.Addr().String()
	p.address = u.String()
	return p
}

// Address answers the address that leads through the proxy.
func (p *Proxy) Address() string { return p.address }

// Close closes the port and all connections.
func (p *Proxy) Close() {
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.closed {
		return
	}
	p.closed = true
	_ = p.l.Close() // nobody can connect any more; that is all that is asked
	for c := range p.conns {
		c.Close()
	}
}

// Open opens the port again. While it was closed another connection of the machine may
// have got its number, which is waited for.
func (p *Proxy) Open(t testing.TB) {
	t.Helper()
	var err error
	for range 100 {
		if err = p.open(p.l.Addr().String()); !errors.Is(err, syscall.EADDRINUSE) {
			break
		}
		time.Sleep(100 * time.Millisecond)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// CutAtCommit cuts the connection at the next commit, once: after the server got it,
// or before.
func (p *Proxy) CutAtCommit(reached bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.cut = func(b []byte) (send, end bool) {
		if !bytes.Contains(b, []byte("Q\x00\x00\x00\x0bcommit\x00")) { // the message of a query that is one word
			return true, false
		}
		p.cut, p.cuts = nil, p.cuts+1
		return reached, true
	}
}

// Hold holds back every message that contains a text, until release is called: what
// another connection sends meanwhile overtakes it.
func (p *Proxy) Hold(text string) (release func()) {
	p.mu.Lock()
	defer p.mu.Unlock()
	let := make(chan struct{})
	p.held, p.let = []byte(text), let
	return sync.OnceFunc(func() {
		p.mu.Lock()
		defer p.mu.Unlock()
		p.held = nil
		close(let)
	})
}

func (p *Proxy) wait(b []byte) {
	p.mu.Lock()
	let := p.let
	if p.held == nil || !bytes.Contains(b, p.held) {
		let = nil
	}
	p.mu.Unlock()
	if let != nil {
		<-let
	}
}

// Cuts answers how many connections were cut at a commit.
func (p *Proxy) Cuts() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.cuts
}

// Sends answers how often clients have sent something: at most as often as they wrote.
func (p *Proxy) Sends() int {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.sends
}

func (p *Proxy) open(at string) error {
	l, err := new(net.ListenConfig).Listen(context.Background(), "tcp", at)
	if err != nil {
		return err
	}
	p.mu.Lock()
	p.l, p.closed = l, false
	p.mu.Unlock()
	go func() {
		for {
			client, err := l.Accept()
			if err != nil {
				return
			}
			go p.carry(client)
		}
	}()
	return nil
}

// carry carries one connection.
func (p *Proxy) carry(client net.Conn) {
	defer client.Close()
	server, err := new(net.Dialer).DialContext(context.Background(), "tcp", p.server)
	if err != nil {
		return
	}
	defer server.Close()
	if !p.note(client, server) {
		return
	}
	defer p.forget(client, server)
	go func() {
		_, _ = io.Copy(client, server)
		client.Close()
	}()
	b := make([]byte, 64<<10)
	for {
		n, err := client.Read(b)
		p.wait(b[:n])
		send, end := p.look(b[:n])
		if end {
			client.Close() // the answer is not let through
		}
		if send {
			if _, err := server.Write(b[:n]); err != nil {
				return
			}
		}
		if end {
			if send {
				_, _ = io.Copy(io.Discard, server) // until the server has done it
			}
			return
		}
		if err != nil {
			return
		}
	}
}

func (p *Proxy) look(b []byte) (send, end bool) {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.sends++
	if p.cut == nil {
		return true, false
	}
	return p.cut(b)
}

// note keeps connections for Close; false once it is closed.
func (p *Proxy) note(cs ...net.Conn) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cs {
		p.conns[c] = true
	}
	return !p.closed
}

func (p *Proxy) forget(cs ...net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	for _, c := range cs {
		delete(p.conns, c)
	}
}
