package smtpsink

import (
	"bytes"
	"errors"
	"io"
	"os"
	"syscall"
	"testing"
	"testing/synctest"
	"time"
)

func TestPipeBuffers(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newPipe(10)
		if n, err := client.Write([]byte("0123456789")); n != 10 || err != nil {
			t.Fatalf("wrote %d, %v, though nobody reads yet and there is room", n, err)
		}
		_ = client.SetWriteDeadline(time.Now().Add(time.Second))
		if n, err := client.Write([]byte("x")); n != 0 || !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Errorf("wrote %d, %v into a full buffer", n, err)
		}
		_ = client.SetWriteDeadline(time.Time{})
		go func() {
			time.Sleep(time.Minute)
			_, _ = io.ReadFull(server, make([]byte, 5))
		}()
		start := time.Now()
		if n, err := client.Write([]byte("abcde")); n != 5 || err != nil || time.Since(start) != time.Minute {
			t.Errorf("wrote %d, %v after %s", n, err, time.Since(start))
		}
		_ = client.Close()
		if b, err := io.ReadAll(server); string(b) != "56789abcde" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
	})
}

func TestPipeDeadlines(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		client, server := newPipe(10)
		_ = client.SetReadDeadline(time.Now().Add(time.Second))
		_ = client.SetReadDeadline(time.Now().Add(3 * time.Second)) // the later one counts
		start := time.Now()
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) || time.Since(start) != 3*time.Second {
			t.Errorf("%v after %s", err, time.Since(start))
		}
		_ = client.SetDeadline(time.Now().Add(-time.Second))
		if _, err := client.Read(make([]byte, 1)); !errors.Is(err, os.ErrDeadlineExceeded) {
			t.Error(err)
		}
		_ = client.SetDeadline(time.Time{})
		go func() { time.Sleep(time.Hour); _, _ = server.Write([]byte("x")) }()
		if n, err := client.Read(make([]byte, 1)); n != 1 || err != nil {
			t.Errorf("read %d, %v", n, err)
		}
	})
}

// TestPipeEnds: a closing end behaves as TCP does.
func TestPipeEnds(t *testing.T) {
	buf := make([]byte, 10)
	t.Run("close", func(t *testing.T) {
		client, server := newPipe(10)
		_, _ = server.Write([]byte("bye"))
		_ = server.Close()
		if n, err := client.Write([]byte("lost")); n != 4 || err != nil {
			t.Errorf("the first write after a close: %d, %v; it cannot know yet", n, err)
		}
		if _, err := client.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("the second write: %v", err)
		}
		if b, err := io.ReadAll(client); string(b) != "bye" || err != nil {
			t.Errorf("read %q, %v", b, err)
		}
		if _, err := server.Read(buf); err == nil {
			t.Error("read from a closed end")
		}
		if _, err := server.Write(buf); err == nil {
			t.Error("wrote to a closed end")
		}
	})
	t.Run("close with bytes unread", func(t *testing.T) {
		client, server := newPipe(10)
		_, _ = client.Write([]byte("unread"))
		_ = server.Close()
		if _, err := client.Read(buf); !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read: %v", err)
		}
	})
	t.Run("reset", func(t *testing.T) {
		client, server := newPipe(10)
		_, _ = server.Write([]byte("bye"))
		server.Reset()
		if _, err := client.Write([]byte("x")); !errors.Is(err, syscall.EPIPE) {
			t.Errorf("write: %v", err)
		}
		if b, err := io.ReadAll(client); !bytes.Equal(b, []byte("bye")) || !errors.Is(err, syscall.ECONNRESET) {
			t.Errorf("read %q, %v", b, err)
		}
	})
	t.Run("close wakes", func(t *testing.T) {
		synctest.Test(t, func(t *testing.T) {
			client, server := newPipe(10)
			_, _ = client.Write(make([]byte, 10))
			go func() { time.Sleep(time.Second); _ = server.Close() }()
			if _, err := client.Write([]byte("x")); err != nil {
				t.Logf("write: %v", err) // it may be lost or refused; it must end
			}
		})
	})
}
