package bind

import (
	"testing"

	"github.com/google/go-cmp/cmp"
)

func FuzzParseGPUBind(f *testing.F) {
	for _, s := range []string{"none", "verbose,closest", "single:2", "per_task:1", "map:0*2,3", "mask:0x3,c*2", "map_gpu:1"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseGPUBind(text)
		if err != nil {
			checkParseError(t, text, err)
			return
		}
		again, err := ParseGPUBind(string(b.Append(nil)))
		if diff := cmp.Diff(b, again); err != nil || diff != "" {
			t.Fatalf("read again: %v (-want +got)\n%s", err, diff)
		}
	})
}

func checkParseError(t *testing.T, text string, err error) {
	t.Helper()
	if e, ok := err.(*ParseError); !ok || e.Offset < 0 || e.Offset > len(text) || e.Text != text {
		t.Fatalf("%q: %#v is no error inside the text", text, err)
	}
}

func FuzzParseTRESBind(f *testing.F) {
	f.Add("gres/gpu:verbose,closest+gres/nic:per_task:1")
	f.Fuzz(func(t *testing.T, text string) {
		all, err := ParseTRESBind(text)
		if err != nil {
			checkParseError(t, text, err)
			return
		}
		again, err := ParseTRESBind(string(AppendTRESBind(nil, all)))
		if diff := cmp.Diff(all, again); err != nil || diff != "" {
			t.Fatalf("read again: %v (-want +got)\n%s", err, diff)
		}
	})
}

func FuzzParseCPUBind(f *testing.F) {
	for _, s := range []string{"cores", "quiet,map_cpu:0,2*2", "verbose", "mask_ldom:1", "rank_ldom"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		b, err := ParseCPUBind(text)
		if err != nil {
			checkParseError(t, text, err)
			return
		}
		again, err := ParseCPUBind(string(b.Append(nil)))
		if diff := cmp.Diff(b, again); err != nil || diff != "" {
			t.Fatalf("read again: %v (-want +got)\n%s", err, diff)
		}
	})
}

func FuzzParseGPUFreq(f *testing.F) {
	for _, s := range []string{"low,memory=high,verbose", "1000", "memory=810"} {
		f.Add(s)
	}
	f.Fuzz(func(t *testing.T, text string) {
		q, err := ParseGPUFreq(text)
		if err != nil {
			checkParseError(t, text, err)
			return
		}
		again, err := ParseGPUFreq(string(q.Append(nil)))
		if err != nil || q != again {
			t.Fatalf("read again: %v, %+v, want %+v", err, again, q)
		}
	})
}
