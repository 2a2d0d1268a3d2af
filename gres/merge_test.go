package gres

import (
	"fmt"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
)

// mergeCase is one node: its slurm.conf Gres, gres.conf lines, detected
// devices ("type file cores links"), and what comes out: records
// "name:type count file", then the problems.
type mergeCase struct {
	name     string
	gres     string
	lines    string
	detected []Record
	detect   bool
	want     []string
	problems []string
}

func dev(typ, file string) Record {
	return Record{Name: "gpu", Type: typ, Count: 1, Files: []string{file}, Detected: true}
}

var mergeCases = []mergeCase{
	{name: "fewer files than configured drain the node", gres: "gpu:4", lines: "Name=gpu File=/dev/g[0-2]",
		want:     []string{"gpu 1 /dev/g0", "gpu 1 /dev/g1", "gpu 1 /dev/g2"},
		problems: []string{"gres/gpu count reported lower than configured (3 < 4)"}},
	{name: "more files than configured: the first count", gres: "gpu:1", lines: "Name=gpu File=/dev/g[0-3]",
		want: []string{"gpu 1 /dev/g0"}, problems: []string{"more found than configured (4, want 1)"}},
	{name: "a type of gres.conf that slurm.conf lacks", gres: "gpu:t:2", lines: "Name=gpu Type=tt File=/dev/g[0-1]",
		want: []string{"gpu:t 0"}, problems: []string{"gres/gpu count reported lower than configured (0 < 2)"}},
	{name: "total short before type short", gres: "gpu:a:2,gpu:b:2", lines: "Name=gpu Type=a File=/dev/g[0-1]\nName=gpu Type=b File=/dev/g2",
		want:     []string{"gpu:a 1 /dev/g0", "gpu:a 1 /dev/g1", "gpu:b 1 /dev/g2"},
		problems: []string{"gres/gpu count reported lower than configured (3 < 4)"}},
	{name: "cores that are no socket", gres: "gpu:1", lines: "Name=gpu File=/dev/g0 Cores=0-3",
		want:     []string{"gpu 1 /dev/g0"},
		problems: []string{"gres/gpu GRES core specification 0-3 for node a doesn't match socket boundaries. (Socket 0 is cores 0-7)"}},
	{name: "all cores are fine", gres: "gpu:1", lines: "Name=gpu File=/dev/g0 Cores=0-15", want: []string{"gpu 1 /dev/g0"}},
	{name: "untyped slurm.conf strips types", gres: "gpu:2", lines: "Name=gpu Type=x File=/dev/g[0-1]",
		want: []string{"gpu 1 /dev/g0", "gpu 1 /dev/g1"}},
	{name: "types are compared without case by the daemon", gres: "gpu:A100:1", lines: "Name=gpu Type=a100 File=/dev/g0",
		want: []string{"gpu:A100 1 /dev/g0"}},
	{name: "mps spread without files", gres: "gpu:3,mps:300", lines: "Name=gpu File=/dev/g[0-2]\nName=mps Count=300",
		want: []string{"gpu 1 /dev/g0", "gpu 1 /dev/g1", "gpu 1 /dev/g2", "mps 100 /dev/g0", "mps 100 /dev/g1", "mps 100 /dev/g2"}},
	{name: "shard spread unevenly", gres: "gpu:3,shard:10", lines: "Name=gpu File=/dev/g[0-2]\nName=shard Count=10",
		want: []string{"gpu 1 /dev/g0", "gpu 1 /dev/g1", "gpu 1 /dev/g2", "shard 3 /dev/g0", "shard 3 /dev/g1", "shard 4 /dev/g2"}},
	{name: "shard by file, unnamed GPUs get none", gres: "gpu:3,shard:8", lines: "Name=gpu File=/dev/g[0-2]\nName=shard Count=8 File=/dev/g[0,2]\nName=shard Count=1 File=/dev/h",
		want:     []string{"gpu 1 /dev/g0", "gpu 1 /dev/g1", "gpu 1 /dev/g2", "shard 4 /dev/g0", "shard 0 /dev/g1", "shard 4 /dev/g2"},
		problems: []string{"shared line for a file that is no gpu"}},
	{name: "GPUs without file are dropped", gres: "gpu:2", lines: "Name=gpu Count=2", want: nil,
		problems: []string{"gpu without file dropped", "gres/gpu count reported lower than configured (0 < 2)"}},
	{name: "several files of one device", gres: "gpu:1g.5gb:1", lines: "Name=gpu Type=1g.5gb MultipleFiles=/dev/c[1-3]",
		want: []string{"gpu:1g.5gb 1 /dev/c1"}},
	{name: "types in slurm.conf order", gres: "gpu:a:2,gpu:v:2", lines: "Name=gpu Type=a File=/dev/g0\nName=gpu Type=v File=/dev/g1\nName=gpu Type=a File=/dev/g2\nName=gpu Type=v File=/dev/g3",
		want: []string{"gpu:a 1 /dev/g0", "gpu:a 1 /dev/g2", "gpu:v 1 /dev/g1", "gpu:v 1 /dev/g3"}},
	{name: "a prefix type: the longest name chooses first", detect: true, gres: "gpu:k20m:1,gpu:k20m1:1",
		detected: []Record{dev("tesla_k20m1", "/dev/nvidia0"), dev("tesla_k20m", "/dev/nvidia1")},
		want:     []string{"gpu:k20m1 1 /dev/nvidia0", "gpu:k20m 1 /dev/nvidia1"}},
	{name: "one of six: the lowest file", detect: true, gres: "gpu:p100:1",
		detected: []Record{dev("tesla_p100", "/dev/nvidia10"), dev("tesla_p100", "/dev/nvidia2"), dev("tesla_p100", "/dev/nvidia1")},
		want:     []string{"gpu:p100 1 /dev/nvidia1"},
		problems: []string{"detected device is not configured", "detected device is not configured"}},
	{name: "k20 and k20m", detect: true, gres: "gpu:k20:2,gpu:k20m:2",
		detected: []Record{dev("k20m", "/dev/nvidia0"), dev("k20m", "/dev/nvidia1"), dev("k20m", "/dev/nvidia2"), dev("k20", "/dev/nvidia3"), dev("k20", "/dev/nvidia4")},
		want:     []string{"gpu:k20m 1 /dev/nvidia0", "gpu:k20m 1 /dev/nvidia1", "gpu:k20 1 /dev/nvidia2", "gpu:k20 1 /dev/nvidia3"},
		problems: []string{"more found than configured (3, want 2)"}},
	{name: "detected types are stripped if none is configured", detect: true, gres: "gpu:2",
		detected: []Record{dev("x", "/dev/nvidia0"), dev("x", "/dev/nvidia1")},
		want:     []string{"gpu 1 /dev/nvidia0", "gpu 1 /dev/nvidia1"}},
	{name: "configured cores differ from the device: both dropped", detect: true, gres: "gpu:1", lines: "Name=gpu File=/dev/nvidia0 Cores=0-7",
		detected: []Record{{Name: "gpu", Count: 1, Files: []string{"/dev/nvidia0"}, Cores: bitsOf("8-15")}},
		problems: []string{"configuration differs from the device", "gres/gpu count reported lower than configured (0 < 1)"}},
	{name: "a configured file that is not detected is kept", detect: true, gres: "gpu:2", lines: "Name=gpu File=/dev/nvidia[0-1]",
		detected: []Record{dev("", "/dev/nvidia0")},
		want:     []string{"gpu 1 /dev/nvidia0", "gpu 1 /dev/nvidia1"}},
	{name: "device order is PCI order, told by links", detect: true, gres: "gpu:2",
		detected: []Record{
			{Name: "gpu", Count: 1, Files: []string{"/dev/nvidia1"}, Links: []int32{-1, 0}},
			{Name: "gpu", Count: 1, Files: []string{"/dev/nvidia0"}, Links: []int32{0, -1}}},
		want: []string{"gpu 1 /dev/nvidia1", "gpu 1 /dev/nvidia0"}},
}

func TestMerge(t *testing.T) {
	for _, c := range mergeCases {
		conf, err := ParseNodeGRES(c.gres)
		if err != nil {
			t.Fatal(err)
		}
		lines, probs := CheckRecords(gresLines("a", c.lines))
		recs, more := MergeNode(conf, lines, c.detected, c.detect)
		n := NodeConf{Name: "a", GRES: conf, Types: []string{"gpu", "shard", "mps"},
			Shape: ShapeConfig{Sockets: 2, CoresPerSocket: 8}}
		_, drains := n.Groups(NewDeviceTable(), recs)
		var got, problems []string
		for _, r := range recs {
			s := r.Name
			if r.Type != "" {
				s += ":" + r.Type
			}
			s += fmt.Sprint(" ", r.Count)
			if len(r.Files) > 0 {
				s += " " + r.Files[0]
			}
			got = append(got, s)
		}
		for _, p := range append(append(probs, more...), drains...) {
			s := p.Reason()
			if s == "" {
				_, s, _ = strings.Cut(strings.TrimPrefix(p.Error(), "gres: merge configuration: "), ": ")
			}
			problems = append(problems, s)
		}
		if d := cmp.Diff(c.want, got); d != "" {
			t.Errorf("%s: records mismatch (-want +got):\n%s", c.name, d)
		}
		if d := cmp.Diff(c.problems, problems); d != "" {
			t.Errorf("%s: problems mismatch (-want +got):\n%s", c.name, d)
		}
	}
}

func TestCheckRecordsFindsWhatStopsTheDaemon(t *testing.T) {
	for _, c := range []struct {
		lines string
		want  MergeKind
	}{
		{"Name=gpu Count=3 File=/dev/g[0-1]", CountNotFiles},
		{"Name=gpu MultipleFiles=/dev/g0", MultipleFewFiles},
		{"Name=gpu File=/dev/g0\nName=gpu Type=x Count=1", MixedFiles},
		{"Name=gpu Type=x File=/dev/g0\nName=gpu File=/dev/g1", MixedTypes},
		{"Name=lic Count=1\nName=lic Count=2", DuplicateLine},
		{"Name=shard Count=1\nName=shard Count=2", SharedMixed},
		{"Name=shard Count=1 File=/dev/g0\nName=shard Count=2", SharedMixed},
		{"Name=gpu File=/dev/g0\nName=gpu File=/dev/g0", DuplicateFile},
		{"Name=gpu File=/dev/g0 Flags=nvidia_gpu_env\nName=gpu File=/dev/g1 Flags=amd_gpu_env", EnvConflict},
	} {
		_, probs := CheckRecords(gresLines("a", c.lines))
		found := false
		for i := range probs {
			found = found || probs[i].Kind == c.want && probs[i].Fatal()
		}
		if !found {
			t.Errorf("%s: got %v, want a fatal %s", c.lines, probs, mergeTexts[c.want])
		}
	}
	if _, probs := CheckRecords(gresLines("a", "Name=gpu File=/dev/g0 Links=1,2")); len(probs) != 1 || probs[0].Kind != BadLinks || probs[0].Fatal() {
		t.Errorf("bad links: got %v, want one warning", probs)
	}
	if _, err := ParseRecordFlags("no_gpu_env,nvidia_gpu_env"); err == nil {
		t.Error("no_gpu_env with nvidia_gpu_env was accepted")
	}
}

// The controller honours per-GPU shares only where GPUs have cores or types.
func TestSharesWithoutCoresAreSpreadEvenly(t *testing.T) {
	for _, c := range []struct{ gpu, want string }{
		{"Name=gpu File=/dev/g[0-1]", "5 5"}, {"Name=gpu File=/dev/g[0-1] Cores=0-7", "4 6"},
	} {
		conf, _ := ParseNodeGRES("gpu:2,shard:10")
		lines, _ := CheckRecords(gresLines("a", c.gpu+"\nName=shard Count=4 File=/dev/g0\nName=shard Count=6 File=/dev/g1"))
		recs, _ := MergeNode(conf, lines, nil, false)
		n := NodeConf{Name: "a", GRES: conf, Types: []string{"shard", "gpu"}, Shape: ShapeConfig{Sockets: 2, CoresPerSocket: 8}}
		groups, _ := n.Groups(NewDeviceTable(), recs)
		got := fmt.Sprint(groups[1].Devices[0].Units, groups[1].Devices[1].Units)
		if got != c.want {
			t.Errorf("%s: shards by GPU %s, want %s", c.gpu, got, c.want)
		}
	}
}

func TestNodeGRESReadsCounts(t *testing.T) {
	got, err := ParseNodeGRES("gpu:a100:2,gpu:a100,bandwidth:4K,fs:no_consume:1,nic")
	if err != nil {
		t.Fatal(err)
	}
	want := []ConfGRES{{"gpu", "a100", 3, false}, {"bandwidth", "", 4096, false}, {"fs", "", 1, true}, {"nic", "", 1, false}}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("mismatch (-want +got):\n%s", d)
	}
	if _, err := ParseNodeGRES("gpu:a100:2,gpu:2"); err == nil {
		t.Error("typed and untyped entries of one name were accepted")
	}
}

func TestAutoDetectValues(t *testing.T) {
	names := map[AutoDetect]string{DetectNVML: "nvml", DetectNVIDIA: "nvidia", DetectRSMI: "rsmi", DetectOneAPI: "oneapi", DetectNRT: "nrt"}
	for _, c := range []struct{ text, want string }{
		{"nvml", "nvml"}, {"NVML", "nvml"}, {"off", ""}, {"full", "nvml nvidia rsmi oneapi nrt"}, {"nvidia,oneapi", "nvidia oneapi"}, {"offnvml", "nvml"}, {"x", ""},
	} {
		var got []string
		for _, m := range ParseAutoDetect(c.text).AppendMethods(nil) {
			got = append(got, names[m])
		}
		if s := strings.Join(got, " "); s != c.want {
			t.Errorf("ParseAutoDetect(%q): methods %q, want %q", c.text, s, c.want)
		}
	}
	if a, p := ChooseAutoDetect(DetectNVML, []AutoDetect{DetectOff}); a != DetectOff || p != nil {
		t.Errorf("own off over global nvml: %v, %v", a, p)
	}
	if a, p := ChooseAutoDetect(DetectNVML, nil); a != DetectNVML || p != nil {
		t.Errorf("global nvml alone: %v, %v", a, p)
	}
	if _, p := ChooseAutoDetect(0, []AutoDetect{DetectNVML, DetectNVIDIA}); p == nil || !p.Fatal() {
		t.Errorf("two own values: %v, want a fatal problem", p)
	}
}

func TestSpreadFlags(t *testing.T) {
	a := gresLines("a", "Name=mps Count=100\nName=ex Count=1 Flags=explicit\nName=shard Count=4 Flags=one_sharing")
	b := gresLines("b", "Name=mps Count=100 Flags=all_sharing\nName=ex Count=1\nName=shard Count=4 Flags=one_sharing")
	got := SpreadFlags(a, b)
	want := map[string]RecordFlags{"mps": 0, "ex": RecordExplicit, "shard": RecordOneSharing}
	if d := cmp.Diff(want, got); d != "" {
		t.Errorf("mismatch (-want +got):\n%s", d)
	}
}
