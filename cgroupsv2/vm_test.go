package cgroupsv2

import (
	"os"
	"os/exec"
	"strings"
	"testing"
)

// All tests of this package again, in a guest whose only hierarchy is version
// 2: 8 CPUs on two memory nodes, swap, every controller. There a test that
// finds something missing fails. Without BERTH_VM=1 it is skipped, with it
// a guest that cannot be had is a failure.
func TestInGuest(t *testing.T) {
	if os.Getenv("VMTEST") == "1" {
		return
	}
	if os.Getenv("BERTH_VM") != "1" {
		t.Skip("BERTH_VM=1 runs this package's tests in a QEMU guest with cgroup v2 alone")
	}
	out, err := exec.Command("sh", "testdata/vmtest/run.sh", ".", "-v", ".").CombinedOutput()
	text := string(out)
	if err != nil {
		t.Fatalf("%v\n%s", err, text)
	}
	for _, name := range []string{
		"TestDevicesOfJobStepAndTask", "TestReadRuleDoesNotWrite", "TestFiltersNarrowReplaceAndComeBack", "TestForeignFilterIsLeftAlone",
		"TestFreezeKillAdoptRemove", "TestTaskStaysOnItsCores", "TestTaskDiesAloneAtItsLimit", "TestStepDiesWhole", "TestSwap",
		"TestShrinkRunningJob", "TestOnlyLeavesHoldProcesses", "TestThreadsAreCounted",
	} {
		if !strings.Contains(text, "--- PASS: "+name+" ") {
			t.Errorf("%s did not pass in the guest\n%s", name, text)
		}
	}
}
