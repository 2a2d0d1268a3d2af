package bind

import (
	"fmt"
	"testing"
)

// TestChooseClocks has the cases 32 to 34 of specification nvml.md.
func TestChooseClocks(t *testing.T) {
	memory := []uint32{5001, 2505, 810}
	graphics := [][]uint32{{1500, 1200, 900, 600}, {1400, 700}, {300}}
	for text, want := range map[string]Clocks{
		"memory=low":            {Memory: 810},
		"memory=medium":         {Memory: 2505},
		"memory=high":           {Memory: 5001},
		"memory=highm1":         {Memory: 2505},
		"1000":                  {GPU: 1200},
		"5000":                  {GPU: 1500},
		"100":                   {GPU: 600},
		"900":                   {GPU: 900},
		"medium":                {GPU: 1200},
		"low,memory=2505":       {Memory: 2505, GPU: 700},
		"high,memory=1,verbose": {Memory: 810, GPU: 300},
		"verbose":               {},
	} {
		f, err := ParseGPUFreq(text)
		if err != nil {
			t.Fatal(err)
		}
		if got := ChooseClocks(f, memory, graphics); got != want {
			t.Errorf("ChooseClocks(%q) = %+v, want %+v", text, got, want)
		}
		if s := string(f.Append(nil)); s != text {
			t.Errorf("Append of %q = %q", text, s)
		}
	}
	if got := (Freq{Level: FreqHighM1}).Choose([]uint32{7}); got != 7 {
		t.Errorf("highm1 of one clock = %d, want 7", got)
	}
	if got := (Freq{Level: FreqHigh}).Choose(nil); got != 0 {
		t.Errorf("high of no clock = %d, want 0", got)
	}
}

func TestParseGPUFreqErrors(t *testing.T) {
	for text, at := range map[string]int{"": 0, "fast": 0, "low,memory=x": 11, "0": 0, "1x": 1} {
		_, err := ParseGPUFreq(text)
		if e, ok := err.(*ParseError); !ok || e.Offset != at {
			t.Errorf("ParseGPUFreq(%q) = %v, want an error at %d", text, err, at)
		}
	}
}

func ExampleChooseClocks() {
	f, _ := ParseGPUFreq("high,memory=low")
	fmt.Println(ChooseClocks(f, []uint32{2619, 1593}, [][]uint32{{1980, 1965}, {1200, 1100}}))
	// Output: {1593 1200}
}
