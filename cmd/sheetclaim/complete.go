package main

import (
	"io"
	"slices"
	"strings"

	"github.com/alecthomas/kong"

	"github.com/sheetclaim/sheetclaim/internal/job"
)

type completionCmd struct {
	Shell string `arg:"" enum:"bash,zsh,fish" help:"bash, zsh or fish."`
}

// Help is the long help of completion.
func (completionCmd) Help() string {
	return `Commands, flags, their values and the names of configured jobs are completed.

  bash:  source <(sheetclaim completion bash)      in ~/.bashrc
  zsh:   source <(sheetclaim completion zsh)       in ~/.zshrc, after compinit
  fish:  sheetclaim completion fish | source       in ~/.config/fish/config.fish`
}

// scripts ask "sheetclaim complete -- WORDS…" for what the last word can become: a word
// and, after a tab, what it means on each line. No line: the shell offers files.
var scripts = map[string]string{
	"bash": `_sheetclaim() {
  local line
  COMPREPLY=()
  while IFS= read -r line; do
    COMPREPLY+=("${line%%$'\t'*}")
  done < <("${COMP_WORDS[0]}" complete -- "${COMP_WORDS[@]:1:COMP_CWORD}" 2>/dev/null)
}
complete -o default -F _sheetclaim sheetclaim
`,
	"zsh": `#compdef sheetclaim
_sheetclaim() {
  local line
  local -a found
  while IFS= read -r line; do
    found+=("${line%%$'\t'*}")
  done < <("${words[1]}" complete -- "${(@)words[2,CURRENT]}" 2>/dev/null)
  if (( ${#found} )); then
    compadd -- "${found[@]}"
  else
    _files
  fi
}
if [ "${funcstack[1]}" = _sheetclaim ]; then
  _sheetclaim "$@"
else
  compdef _sheetclaim sheetclaim
fi
`,
	"fish": `function __sheetclaim
  set -l words (commandline -opc)
  set -l found ($words[1] complete -- $words[2..-1] (commandline -ct) 2>/dev/null)
  if test (count $found) -gt 0
    printf '%s\n' $found
  else
    __fish_complete_path (commandline -ct)
  end
end
complete -c sheetclaim -f -a '(__sheetclaim)'
`,
}

// Run prints the script of a shell.
func (c *completionCmd) Run(m *Main) error {
	_, err := io.WriteString(m.Stdout, scripts[c.Shell])
	return err
}

// completeCmd is what the scripts call.
type completeCmd struct {
	Words []string `arg:"" optional:"" help:"The words after sheetclaim; the last one is to be completed."`
}

// Run prints what the last word can become.
func (c *completeCmd) Run(m *Main, opts *cli, k *kong.Kong) error {
	f := finder{node: k.Model.Node, values: map[string]string{"config": opts.Config}}
	var last string
	if n := len(c.Words); n > 0 {
		last = c.Words[n-1]
		for _, word := range c.Words[:n-1] {
			f.pass(word)
		}
	}
	jobs := func() []string {
		cfg, err := job.Load(f.values["config"], m.Env)
		if err != nil {
			return nil // completion has no place for words about it
		}
		return cfg.JobNames()
	}
	var lines strings.Builder
	for _, found := range f.candidates(last, jobs) {
		if strings.HasPrefix(found, last) {
			lines.WriteString(found + "\n")
		}
	}
	_, err := io.WriteString(m.Stdout, lines.String())
	return err
}

// finder follows the words of a command line.
type finder struct {
	node   *kong.Node // the command so far
	args   int        // its arguments so far
	flag   *kong.Flag // whose value comes next
	values map[string]string
}

// pass goes past one word.
func (f *finder) pass(word string) {
	if f.flag != nil {
		if word != "=" { // bash divides --flag=value into three
			f.values[f.flag.Name], f.flag = word, nil
		}
		return
	}
	if name, isFlag := strings.CutPrefix(word, "--"); isFlag {
		name, value, whole := strings.Cut(name, "=")
		if f.flag = f.named(name); f.flag != nil && (whole || f.flag.IsBool()) {
			f.values[name], f.flag = value, nil
		}
		return
	}
	i := slices.IndexFunc(f.node.Children, func(n *kong.Node) bool { return n.Name == word })
	if i < 0 {
		f.args++
		return
	}
	f.node, f.args = f.node.Children[i], 0
}

// named finds a flag of the command or of one above it.
func (f *finder) named(name string) *kong.Flag {
	for _, flags := range f.node.AllFlags(false) {
		for _, flag := range flags {
			if flag.Name == name {
				return flag
			}
		}
	}
	return nil
}

// candidates answers all that could stand where word is.
func (f *finder) candidates(word string, jobs func() []string) []string {
	if f.flag != nil {
		return valuesOf(f.flag.Value, jobs)
	}
	var found []string
	if strings.HasPrefix(word, "-") {
		for _, flags := range f.node.AllFlags(true) {
			for _, flag := range flags {
				found = append(found, "--"+flag.Name+"\t"+flag.Help)
			}
		}
		return found
	}
	for _, child := range f.node.Children {
		if !child.Hidden {
			found = append(found, child.Name+"\t"+child.Help)
		}
	}
	if f.args < len(f.node.Positional) {
		found = append(found, valuesOf(f.node.Positional[f.args], jobs)...)
	}
	return found
}

// valuesOf answers the values of an argument or flag that are known.
func valuesOf(v *kong.Value, jobs func() []string) []string {
	switch {
	case v.Enum != "":
		return v.EnumSlice()
	case v.Name == "job":
		return jobs()
	}
	return nil
}
