package gres

import "strings"

// ParseResourceName returns what an extended resource name of Kubernetes asks
// for as name and type of devices: the part after the vendor's domain,
// where "mig-PROFILE" is a gpu of that profile (strategy mixed), "gpu" a gpu
// without a type (whole, or the plain profile of strategy single), and
// "gpu.shared" a time-sliced replica under its own name. Other names stand for
// themselves. ok is false if the domain or the name is missing.
func ParseResourceName(resource string) (name, typ string, ok bool) {
	domain, name, ok := strings.Cut(resource, "/")
	if !ok || domain == "" || name == "" || strings.ContainsAny(name, "/ ") {
		return "", "", false
	}
	if p, mig := strings.CutPrefix(name, "mig-"); mig {
		if p == "" {
			return "", "", false
		}
		// The driver's "+me" cannot stand in a resource name.
		if plain, me := strings.CutSuffix(p, ".me"); me {
			p = plain + "+me"
		}
		return "gpu", p, true
	}
	return name, "", true
}

// AppendResourceName appends the extended resource name of devices of a name
// and type under a domain: "nvidia.com/mig-1g.10gb" for a gpu with a MIG
// profile as type. Other types do not appear in resource names.
func AppendResourceName(dst []byte, domain, name, typ string) []byte {
	dst = append(dst, domain...)
	dst = append(dst, '/')
	if slices, rest, ok := strings.Cut(typ, "g."); name == "gpu" && ok && len(slices) == 1 && strings.Contains(rest, "gb") {
		dst = append(dst, "mig-"...)
		return append(dst, strings.Replace(typ, "+", ".", 1)...)
	}
	return append(dst, name...)
}
