package dashboard

import (
	"cmp"
	"context"
	"errors"
	"net/http"
	"net/url"
	"slices"
	"strings"

	"github.com/sheetclaim/sheetclaim/internal/key"
)

// keysListed is how many keys one page lists.
const keysListed = 50

// keysView is a search among keys.
type keysView struct {
	Find    string
	Exactly bool
	State   key.State
	States  []key.State
	Keys    []keyEntry
	Next    string // address of the next page; "": this is the last
	Problem string
}

// keyEntry is a key with its links.
type keyEntry struct {
	key.Entry
	Events []key.Event
}

// Path is where the key is shown.
func (k keyEntry) Path() string { return "/keys/show?" + url.Values{"key": {k.Key}}.Encode() }

// Ask is the address that asks once more before the key is settled, without the word.
func (k keyEntry) Ask() string { return "/keys/settle?" + url.Values{"key": {k.Key}}.Encode() }

// Asks reports whether the key waits for a person.
func (k keyEntry) Asks() bool { return k.State == key.Unknown }

// keyStateOf is a state of keys as it is shown.
func keyStateOf(s key.State) label {
	switch s {
	case key.Claimed:
		return label{"claimed", "on"}
	case key.Unknown:
		return label{"unknown", "ask"}
	case key.Released:
		return label{"released", "off"}
	case key.Done:
		return label{"done", ""}
	}
	return label{string(s), "off"}
}

// keyBook lets a viewer at the key ledger, as the API does.
func (v *visit) keyBook() (key.Book, error) {
	switch {
	case v.who.bound:
		return nil, &fault{status: http.StatusForbidden, Title: "Keys are not for this token", Text: "It is bound to jobs, and keys belong to none. Log in with a token that is not bound."}
	case v.cfg.Keys == nil:
		return nil, notFound()
	}
	return v.cfg.Keys, nil
}

// unknownKeys counts the keys that wait for a person, up to 100; none where the viewer has
// no business with keys.
func (p *Page) unknownKeys(ctx context.Context, who *viewer) (int, error) {
	if p.cfg.Keys == nil || who.bound {
		return 0, nil
	}
	const most = 100
	entries, err := p.cfg.Keys.List(ctx, key.Filter{State: key.Unknown, Limit: most})
	return len(entries), err
}

// getKeys searches by a whole key, or lists by how keys begin and by state.
func (p *Page) getKeys(v *visit) error {
	keys, err := v.keyBook()
	if err != nil {
		return err
	}
	query := v.r.URL.Query()
	view := keysView{Find: query.Get("find"), Exactly: query.Get("how") == "exactly", State: key.State(query.Get("state")), States: key.States()}
	if view.State != "" && !slices.Contains(view.States, view.State) {
		return notFound()
	}
	if view.Exactly && strings.TrimSpace(view.Find) != "" {
		return v.findExactly(keys, view)
	}
	f := key.Filter{State: view.State, Prefix: view.Find, After: query.Get("after"), Limit: keysListed + 1}
	entries, err := keys.List(v.r.Context(), f)
	if err != nil {
		return ledgerFault(err)
	}
	if len(entries) > keysListed {
		entries = entries[:keysListed]
		query.Set("after", entries[keysListed-1].Key)
		view.Next = "/keys?" + query.Encode()
	}
	for _, e := range entries {
		view.Keys = append(view.Keys, keyEntry{Entry: e})
	}
	return v.show(http.StatusOK, "keys", frame{Title: "Keys", Data: view})
}

// findExactly leads to the key that was searched for.
func (v *visit) findExactly(keys key.Book, view keysView) error {
	name, err := key.Clean(view.Find)
	if err == nil {
		_, _, err = keys.Find(v.r.Context(), name)
	}
	var bad *key.FaultError
	switch {
	case errors.Is(err, key.ErrNoKey):
		view.Problem = "No key reads exactly so: it was never claimed, or has been pruned. Case and blanks inside count."
	case errors.As(err, &bad):
		view.Problem = capital(bad.Text) + "."
	case err != nil:
		return ledgerFault(err)
	default:
		http.Redirect(v.w, v.r, keyEntry{Entry: key.Entry{Key: name}}.Path(), http.StatusSeeOther)
		return nil
	}
	return v.show(http.StatusOK, "keys", frame{Title: "Keys", Data: view})
}

// findKey answers a key with what happened to it.
func (v *visit) findKey(keys key.Book, name string) (keyEntry, error) {
	name, err := key.Clean(name)
	if err != nil {
		return keyEntry{}, notFound()
	}
	e, events, err := keys.Find(v.r.Context(), name)
	if errors.Is(err, key.ErrNoKey) {
		return keyEntry{}, notFound()
	}
	if err != nil {
		return keyEntry{}, ledgerFault(err)
	}
	return keyEntry{e, events}, nil
}

// getKey shows one key.
func (p *Page) getKey(v *visit) error {
	keys, err := v.keyBook()
	if err != nil {
		return err
	}
	e, err := v.findKey(keys, v.r.URL.Query().Get("key"))
	if err != nil {
		return err
	}
	return v.show(http.StatusOK, "key", frame{Title: "Key " + e.Key, Data: e})
}

// askKeyView asks once more.
type askKeyView struct {
	keyEntry
	Word    key.State // done or released
	Problem string
}

// askKey asks once more before a key is settled, and for the reason.
func (p *Page) askKey(v *visit) error {
	keys, err := v.keyBook()
	if err != nil {
		return err
	}
	return v.askForKey(keys, http.StatusOK, v.r.URL.Query(), "")
}

func (v *visit) askForKey(keys key.Book, status int, form url.Values, problem string) error {
	word := key.State(form.Get("word"))
	if word != key.Done && word != key.Released {
		return notFound()
	}
	e, err := v.findKey(keys, form.Get("key"))
	if err != nil {
		return err
	}
	if !e.Asks() {
		return keySettledFault()
	}
	return v.show(status, "keysettle", frame{Title: "Settle " + e.Key, Data: askKeyView{e, word, problem}})
}

func keySettledFault() *fault {
	return &fault{status: http.StatusConflict, Title: "This key waits for nobody", Text: "It was settled before, or its owner has ended it. Nothing was changed by this press; search for the key to see how it stands."}
}

// postKey takes a person's word on a key that is unknown.
func (p *Page) postKey(v *visit) error {
	keys, err := v.keyBook()
	if err != nil {
		return err
	}
	form := v.r.PostForm
	end := key.End{Key: form.Get("key"), State: key.State(form.Get("word")), Who: cmp.Or(v.who.name, "page"), Why: form.Get("why")}
	if strings.TrimSpace(end.Why) == "" {
		return v.askForKey(keys, http.StatusBadRequest, form, "Say what you saw: it is kept with your answer.")
	}
	if end.State != key.Done && end.State != key.Released {
		return notFound()
	}
	end, err = end.Checked()
	if err == nil {
		err = keys.End(v.r.Context(), end)
	}
	var bad *key.FaultError
	switch {
	case errors.As(err, &bad):
		return v.askForKey(keys, http.StatusBadRequest, form, capital(bad.Text)+".")
	case errors.Is(err, key.ErrNotUnknown):
		return keySettledFault()
	case errors.Is(err, key.ErrNoKey):
		return notFound()
	case err != nil:
		return ledgerFault(err)
	}
	p.cfg.Log.Info("key settled", "key", end.Key, "as", end.State, "by", end.Who)
	http.Redirect(v.w, v.r, keyEntry{Entry: key.Entry{Key: end.Key}}.Path(), http.StatusSeeOther)
	return nil
}
