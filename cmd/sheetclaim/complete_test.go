package main

import (
	"os"
	"os/exec"
	"slices"
	"strings"
	"testing"
)

// completions asks as the scripts do and answers the words.
func completions(t *testing.T, words ...string) []string {
	t.Helper()
	p := newProgram(nil)
	if code := p.Run(t.Context(), append([]string{"complete", "--"}, words...)); code != exitOK {
		t.Errorf("%q: exit %d: %s", words, code, p.err.String())
	}
	var found []string
	for line := range strings.Lines(p.out.String()) {
		word, _, _ := strings.Cut(strings.TrimSuffix(line, "\n"), "\t")
		found = append(found, word)
	}
	return found
}

func TestCompletion(t *testing.T) {
	t.Parallel()
	s := newStage(t, dueRows(1))
	config := s.config("one")
	for _, tc := range []struct {
		words []string
		want  string // among others, when it ends in …
	}{
		{[]string{"ru"}, "run"},
		{[]string{""}, "serve run …"},
		{[]string{"config", ""}, "check"},
		{[]string{"--log-level", ""}, "debug info warn error"},
		{[]string{"--log-level", "=", "d"}, "debug"},
		{[]string{"run", "--log-format", "j"}, "json"},
		{[]string{"--log-format", "json", "ver"}, "version"},
		{[]string{"run", "--dry"}, "--dry-run"},
		{[]string{"run", "--conf"}, "--config"},
		{[]string{"completion", ""}, "bash zsh fish"},
		{[]string{"--config", config, "run", ""}, "test"},
		{[]string{"--config=" + config, "run", "--dry-run", ""}, "test"},
		{[]string{"--config", config, "run", "test", ""}, ""},
		{[]string{"doubts", "--config", config, "--job", "t"}, "test"},
		{[]string{"--config", "nothing.yaml", "run", ""}, ""},
		{[]string{"--config", ""}, ""}, // the shell offers files
		{[]string{"--nonsense", "nonsense", ""}, "serve …"},
		{[]string{"comple"}, "completion"},
	} {
		got := completions(t, tc.words...)
		want := strings.Fields(tc.want)
		if slices.Contains(want, "…") {
			got = slices.DeleteFunc(got, func(w string) bool { return !slices.Contains(want, w) })
			want = want[:len(want)-1]
			slices.Sort(want)
			slices.Sort(got)
		}
		if !slices.Equal(got, want) {
			t.Errorf("%q completes to %q, want %q", tc.words, got, want)
		}
	}
}

// The shells themselves complete "sheetclaim run --dr", and files where we know nothing.
func TestCompletionInShells(t *testing.T) {
	t.Parallel()
	for shell, driver := range map[string]string{
		"bash": `source <(sheetclaim completion bash)
			COMP_WORDS=(sheetclaim run --dr); COMP_CWORD=2; _sheetclaim; echo "${COMPREPLY[@]}"
			complete -p sheetclaim`,
		"zsh": `compdef() { :; }; compadd() { shift; print -r -- "$@"; }; _files() { print files; }
			source <(sheetclaim completion zsh)
			words=(sheetclaim run --dr); CURRENT=3; _sheetclaim
			words=(sheetclaim --config ''); CURRENT=3; _sheetclaim`,
		"fish": `sheetclaim completion fish | source
			complete -C 'sheetclaim run --dr'
			cd (mktemp -d); touch files; complete -C 'sheetclaim --config f'`,
	} {
		t.Run(shell, func(t *testing.T) {
			t.Parallel()
			needTool(t, shell)
			cmd := exec.Command(shell, "-c", driver)
			cmd.Env = append(os.Environ(), "HOME="+t.TempDir())
			out, err := cmd.CombinedOutput()
			said := string(out)
			if err != nil || !strings.Contains(said, "--dry-run") || shell == "bash" && !strings.Contains(said, "-o default") || shell != "bash" && !strings.Contains(said, "files") {
				t.Errorf("%v: %s", err, said)
			}
		})
	}
}
