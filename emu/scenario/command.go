package scenario

import (
	"cmp"
	"fmt"
	"slices"
	"strings"

	"fabemu/emu/base/errs"
	"fabemu/emu/base/spelling"
	"fabemu/wire/param"
)

// Commands describes the words of Command by examples.
const Commands = `link trunk rate 1Gb/s
link trunk down
link trunk loss 0.01 from A for 2ms
storm h3 priority 3 for 10ms
endpoint h3 sink stopped for 1ms
switch S restart 100us
switch S high 50KB`

// Command returns the event that words describe, as an item of events without its time: an object
// by its kind and name, and keys with their values, as in Commands. "down" and "up" stand for a
// state, and "storm" for an endpoint with a pause storm. A single word with a colon is such an item
// already. Happen checks the event.
func Command(words []string) (string, error) { return builtIn().command(words) }

func (t Tables) command(words []string) (string, error) {
	if len(words) == 1 && strings.Contains(words[0], ":") {
		return words[0], nil
	}
	kinds := t.kinds()
	kind, rest := first(words)
	if !slices.Contains(kinds, kind) {
		return "", errs.Errorf("there is no command %q%s: possible are %s, or a line of events such as {link: trunk, loss: 0.01}. Examples:\n  %s",
			kind, spelling.DidYouMean(spelling.Nearest(kind, kinds)), strings.Join(kinds, ", "), strings.ReplaceAll(Commands, "\n", "\n  "))
	}
	name, rest := first(rest)
	if name == "" {
		return "", errs.Errorf("%s: its name is missing, as in %s", kind, exampleOf(kind))
	}
	var fields []string
	add := func(key, value string) { fields = append(fields, key+": "+inFlow(value)) }
	if kind == "storm" {
		kind = "endpoint"
		state := string(StormOn)
		if word, more := first(rest); word == string(StormOn) || word == string(StormOff) {
			state, rest = word, more
		}
		add(kind, name)
		fields = append(fields, fmt.Sprintf("pause-storm: %q", state))
	} else {
		add(kind, name)
	}
	keys := t.keysOn(Target(kind))
	for len(rest) > 0 {
		var key, value string
		switch key, rest = first(rest); key {
		case string(Down), string(Up):
			if word, more := first(rest); word == "for" {
				time, _ := first(more)
				return "", errs.Errorf("%s %s %s: it lasts until the opposite: give %[1]s %[2]s down, and later %[1]s %[2]s up; in a scenario, flap: %[4]s with a period brings a link down for a time",
					kind, name, strings.Join(append([]string{key}, rest...), " "), cmp.Or(time, "10us"))
			}
			add("state", key)
			continue
		case "priority":
			key = "priorities"
		}
		if !slices.Contains(keys, key) {
			return "", errs.Errorf("%s %s has no %q%s: possible are down and up of a link, and %s", kind, name, key,
				spelling.DidYouMean(spelling.Nearest(key, keys)), strings.Join(keys, ", "))
		}
		if value, rest = first(rest); value == "" {
			return "", errs.Errorf("%s %s: %s has no value, as in %s", kind, name, key, exampleOf(kind))
		}
		if t.Section("events").Find(key).Kind == param.List {
			fields = append(fields, key+": ["+strings.Trim(value, "[]")+"]")
			continue
		}
		add(key, value)
	}
	return strings.Join(fields, ", "), nil
}

// first returns the first of some words, empty where there is none, and the others.
func first(words []string) (string, []string) {
	if len(words) == 0 {
		return "", nil
	}
	return words[0], words[1:]
}

// kinds returns the words with which a command can begin.
func (t Tables) kinds() []string {
	all := []string{"storm"}
	for _, on := range t.Targets() {
		all = append(all, string(on))
	}
	return all
}

// exampleOf returns the example of a kind of object.
func exampleOf(kind string) string {
	for line := range strings.Lines(Commands) {
		if strings.HasPrefix(line, kind) {
			return strings.TrimSpace(line)
		}
	}
	return ""
}

// inFlow writes a word as a value within braces.
func inFlow(word string) string {
	if word == "" || strings.ContainsAny(word, "{}[],:#&*!|>'\"%@`\\ \t\n\r") {
		return fmt.Sprintf("%q", word)
	}
	return word
}

// CommandWords returns the words that can come after some words of a command, for a shell to
// complete; none if a name or a value comes next.
func CommandWords(words []string) []string {
	t := builtIn()
	kind, rest := first(words)
	switch {
	case kind == "":
		return t.kinds()
	case len(rest)%2 == 0:
		return nil
	case kind == "storm":
		words := []string{"priority", string(StormOff)}
		for _, key := range t.acts.Find(PauseStorm{}.Row().Key).Keys() {
			if key != "priorities" && key != "pause-storm" {
				words = append(words, key)
			}
		}
		return words
	case kind == "link":
		return append(t.keysOn(OnLink), string(Down), string(Up))
	}
	return t.keysOn(Target(kind))
}
