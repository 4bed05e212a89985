package sheetsemu

import (
	"encoding/json"
	"fmt"
	"net/http"
	"strings"
	"time"
)

// control adds the endpoints under /_emu/, which only the port has.
func (e *Emulator) control(mux *http.ServeMux) {
	mux.HandleFunc("GET /_emu/health", func(w http.ResponseWriter, _ *http.Request) {
		_, _ = fmt.Fprintln(w, "ok")
	})
	mux.HandleFunc("GET /_emu/log", func(w http.ResponseWriter, _ *http.Request) {
		writeJSON(w, logLines(e.Log()))
	})
	mux.HandleFunc("GET /_emu/sheets/{id}/{file}", e.controlTab)
	mux.HandleFunc("POST /_emu/reset", func(w http.ResponseWriter, _ *http.Request) {
		e.ResetLog()
		e.SetFaults(Calm)
		w.WriteHeader(http.StatusNoContent)
	})
	mux.HandleFunc("POST /_emu/faults", func(w http.ResponseWriter, r *http.Request) {
		if err := e.controlFaults(r); err != nil {
			http.Error(w, err.Error(), http.StatusBadRequest)
			return
		}
		w.WriteHeader(http.StatusNoContent)
	})
}

// controlTab shows a tab: TAB.csv to programs, TAB.html to people.
func (e *Emulator) controlTab(w http.ResponseWriter, r *http.Request) {
	write, kind := e.WriteCSV, "text/csv"
	tab, ok := strings.CutSuffix(r.PathValue("file"), ".csv")
	if !ok {
		tab, ok = strings.CutSuffix(tab, ".html")
		write, kind = e.writeHTML, "text/html"
	}
	if !ok {
		http.NotFound(w, r)
		return
	}
	w.Header().Set("Content-Type", kind+"; charset=UTF-8")
	w.Header().Set("Content-Security-Policy", "default-src 'none'; style-src 'unsafe-inline'")
	if err := write(r.PathValue("id"), tab, w); err != nil {
		http.Error(w, err.Error(), http.StatusNotFound)
	}
}

func writeJSON(w http.ResponseWriter, v any) {
	w.Header().Set("Content-Type", "application/json; charset=UTF-8")
	_ = json.NewEncoder(w).Encode(v) // the reader may be gone
}

func logLines(calls []Call) []object {
	lines := make([]object, len(calls))
	for i, c := range calls {
		lines[i] = object{
			"n": c.N, "time": c.Time.Format(time.RFC3339Nano), "caller": c.Caller, "kind": c.Kind,
			"spreadsheet": c.Spreadsheet, "arg": c.Arg, "write": c.Write, "body": string(c.Body),
			"applied": c.Applied, "status": c.Status, "message": c.Message,
		}
	}
	return lines
}

// faultsMessage is the body of POST /_emu/faults: either a set of rates by
// name, or rules of a script, or both.
type faultsMessage struct {
	Set   string `json:"set"` // calm or realistic
	Rules []struct {
		Kind, Caller, Spreadsheet string
		Nth, Count                int
		Apply                     string // now, never, late:5s
		Answer                    string // ok, lost, silent, cut, html, slow:5s, status:503
		Stale                     string // 5s
	} `json:"rules"`
}

func (e *Emulator) controlFaults(r *http.Request) error {
	var msg faultsMessage
	if err := json.NewDecoder(r.Body).Decode(&msg); err != nil {
		return err
	}
	var rules []Rule
	for _, in := range msg.Rules {
		f, err := parseFault(in.Apply, in.Answer, in.Stale)
		if err != nil {
			return err
		}
		rules = append(rules, Rule{Match{Kind: in.Kind, Caller: in.Caller, Spreadsheet: in.Spreadsheet, Nth: in.Nth, Count: in.Count}, f, 0})
	}
	switch strings.ToLower(msg.Set) {
	case "calm":
		e.SetFaults(Calm)
	case "realistic":
		e.SetFaults(Realistic)
	case "":
	default:
		return fmt.Errorf("no faults are called %q", msg.Set)
	}
	e.Script(rules...)
	return nil
}

func parseFault(apply, answer, stale string) (Fault, error) {
	var f Fault
	word, arg, _ := strings.Cut(apply, ":")
	switch word {
	case "", "now":
	case "never":
		f.Apply = Never
	case "late":
		d, err := time.ParseDuration(arg)
		if err != nil {
			return f, err
		}
		f.Apply = Late(d)
	default:
		return f, fmt.Errorf("apply %q is none of now, never, late:DURATION", apply)
	}
	if stale != "" {
		d, err := time.ParseDuration(stale)
		if err != nil {
			return f, err
		}
		f.Stale = d
	}
	var err error
	f.Answer, err = parseAnswer(answer)
	return f, err
}

func parseAnswer(text string) (Answer, error) {
	word, arg, _ := strings.Cut(text, ":")
	switch word {
	case "", "ok":
		return OK, nil
	case "lost":
		return Lost, nil
	case "silent":
		return Silent, nil
	case "cut":
		return Cut, nil
	case "html":
		return HTML, nil
	case "slow":
		d, err := time.ParseDuration(arg)
		return Slow(d), err
	case "status":
		code := atoi(arg)
		if code < 400 || code > 599 {
			return OK, fmt.Errorf("answer %q has no status from 400 to 599", text)
		}
		return Status(code, ""), nil
	}
	return OK, fmt.Errorf("answer %q is none of ok, lost, silent, cut, html, slow:DURATION, status:CODE", text)
}
