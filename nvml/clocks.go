package nvml

import (
	"errors"
	"fmt"
	"slices"
)

// Clocks returns the clocks that a device supports in MHz, falling: memory
// clocks, and for each of them the graphics clocks. package bind chooses from
// them what --gpu-freq means.
func (l *Library) Clocks(index int) (memory []uint32, graphics [][]uint32, err error) {
	d, err := l.device(index)
	if err != nil {
		return nil, nil, err
	}
	memory, r := l.lib.devClocks("nvmlDeviceGetSupportedMemoryClocks", d, 0)
	if r != Success {
		return nil, nil, fmt.Errorf("nvml: read memory clocks of device %d: %w", index, r)
	}
	falling(memory)
	for _, m := range memory {
		g, r := l.lib.devClocks("nvmlDeviceGetSupportedGraphicsClocks", d, m)
		if r != Success {
			return nil, nil, fmt.Errorf("nvml: read graphics clocks of device %d: %w", index, r)
		}
		falling(g)
		graphics = append(graphics, g)
	}
	return memory, graphics, nil
}

func falling(s []uint32) {
	slices.Sort(s)
	slices.Reverse(s)
}

func (l *Library) device(index int) (handle, error) {
	if index < 0 || index >= maxDevices {
		return 0, fmt.Errorf("nvml: find device %d: %w", index, NotFound)
	}
	d, r := l.lib.byIndex("nvmlDeviceGetHandleByIndex_v2", uint32(index))
	if r != Success {
		return 0, fmt.Errorf("nvml: find device %d: %w", index, r)
	}
	return d, nil
}

// SetClocks locks the clocks of a device at MHz figures, memory first; 0
// leaves one alone. A driver without locked clocks gets them as one pair of
// application clocks, for which both must be given.
func (l *Library) SetClocks(index int, memory, graphics uint32) error {
	d, err := l.device(index)
	if err != nil {
		return err
	}
	old := false
	if memory > 0 {
		r := l.lib.devSet("nvmlDeviceSetMemoryLockedClocks", d, memory, memory)
		if old = r == FunctionNotFound; !old && r != Success {
			return fmt.Errorf("nvml: lock memory clock of device %d: %w", index, r)
		}
	}
	if graphics > 0 && !old {
		r := l.lib.devSet("nvmlDeviceSetGpuLockedClocks", d, graphics, graphics)
		if old = r == FunctionNotFound; !old && r != Success {
			return fmt.Errorf("nvml: lock graphics clock of device %d: %w", index, r)
		}
	}
	if old {
		if r := l.lib.devSet("nvmlDeviceSetApplicationsClocks", d, memory, graphics); r != Success {
			return fmt.Errorf("nvml: set application clocks of device %d: %w", index, r)
		}
	}
	return nil
}

// ResetClocks gives the clocks of a device back to the driver. What the driver
// lacks was not set either.
func (l *Library) ResetClocks(index int) error {
	d, err := l.device(index)
	if err != nil {
		return err
	}
	var errs []error
	for _, name := range [...]string{"nvmlDeviceResetMemoryLockedClocks", "nvmlDeviceResetGpuLockedClocks", "nvmlDeviceResetApplicationsClocks"} {
		if r := l.lib.devReset(name, d); r != Success && r != FunctionNotFound && r != NotSupported {
			errs = append(errs, fmt.Errorf("nvml: reset clocks of device %d: %w", index, r))
		}
	}
	return errors.Join(errs...)
}
