package topology_test

import (
	"encoding/json"
	"fmt"
	"strings"
)

// unmarshalYAML reads the YAML that recorded topology.yaml files are written
// in: mappings and sequences by indentation, plain and quoted scalars, and flow
// forms of a line. The house's YAML reader stands in scheduler/slurmconf; a test here
// that required it would put it into the go.sum of everyone who imports this
// package.
func unmarshalYAML(text string, v any) error {
	var lines []string
	for line := range strings.Lines(text) {
		line = strings.TrimRight(line, "\n")
		if line == "---" || strings.TrimSpace(line) == "" {
			continue
		}
		// An item's first key stands on a line of its own, two columns deeper.
		for {
			body := strings.TrimLeft(line, " ")
			item, ok := strings.CutPrefix(body, "- ")
			if !ok {
				break
			}
			in := line[:len(line)-len(body)]
			lines = append(lines, in+"-")
			line = in + "  " + item
		}
		lines = append(lines, line)
	}
	r := yamlReader{lines: lines}
	value := r.block(0)
	if len(r.lines) > 0 {
		return fmt.Errorf("yaml: not understood: %q", r.lines[0])
	}
	b, err := json.Marshal(value)
	if err != nil {
		return err
	}
	return json.Unmarshal(b, v)
}

type yamlReader struct{ lines []string }

// depth is the indentation of the next line; -1 at the end.
func (r *yamlReader) depth() int {
	if len(r.lines) == 0 {
		return -1
	}
	return len(r.lines[0]) - len(strings.TrimLeft(r.lines[0], " "))
}

// block reads what is indented by at least in columns as one value.
func (r *yamlReader) block(in int) any {
	depth := r.depth()
	if depth < in {
		return nil
	}
	var list []any
	fields := map[string]any{}
	for r.depth() == depth {
		body := r.lines[0][depth:]
		r.lines = r.lines[1:]
		if body == "-" {
			list = append(list, r.block(depth+1))
			continue
		}
		key, value, ok := strings.Cut(body, ":")
		if !ok || strings.HasPrefix(body, "{") || strings.HasPrefix(body, "[") {
			return yamlScalar(body)
		}
		if value = strings.TrimSpace(value); value != "" {
			fields[key] = yamlScalar(value)
			continue
		}
		fields[key] = r.block(depth + 1)
	}
	if list != nil {
		return list
	}
	return fields
}

// yamlScalar reads a scalar, or a flow mapping or sequence that ends on its
// line.
func yamlScalar(s string) any {
	if strings.HasPrefix(s, "{") || strings.HasPrefix(s, "[") {
		v, _ := yamlFlow(s)
		return v
	}
	var v any
	if json.Unmarshal([]byte(s), &v) == nil {
		return v
	}
	return s
}

// yamlFlow reads one flow value from the beginning of s and returns what
// follows it.
func yamlFlow(s string) (any, string) {
	s = strings.TrimSpace(s)
	switch {
	case strings.HasPrefix(s, "["):
		list := []any{}
		for s = strings.TrimSpace(s[1:]); s != "" && s[0] != ']'; s = strings.TrimSpace(s) {
			var v any
			v, s = yamlFlow(s)
			list = append(list, v)
			s = strings.TrimPrefix(strings.TrimSpace(s), ",")
		}
		return list, strings.TrimPrefix(s, "]")
	case strings.HasPrefix(s, "{"):
		fields := map[string]any{}
		for s = strings.TrimSpace(s[1:]); s != "" && s[0] != '}'; s = strings.TrimSpace(s) {
			key, rest, _ := strings.Cut(s, ":")
			fields[strings.TrimSpace(key)], s = yamlFlow(rest)
			s = strings.TrimPrefix(strings.TrimSpace(s), ",")
		}
		return fields, strings.TrimPrefix(s, "}")
	case strings.HasPrefix(s, "\""):
		text, rest, _ := strings.Cut(s[1:], "\"")
		return text, rest
	}
	end := strings.IndexAny(s, ",]}")
	if end < 0 {
		end = len(s)
	}
	return yamlScalar(strings.TrimSpace(s[:end])), s[end:]
}
