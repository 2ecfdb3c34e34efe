package stream

import (
	"fmt"
	"io"
)

// ParseState returns where the devices start in a device state, which was saved with x-ignore-shared: its RAM sections have the list of
// blocks and the pages of the small ones, such as flash and ROMs.
func ParseState(file io.ReaderAt, size uint64) (devicesOffset uint64, err error) {
	if size > maxStateFileBytes {
		return 0, fmt.Errorf("the device state has %d bytes", size)
	}
	r := newReader(file, size)
	configured := readHeader(r)
	if r.err == nil && (!configured.has(ignoreShared) || configured.has(mappedRAM)) {
		r.fail("the device state must be saved with x-ignore-shared and without mapped-ram; it has %.200q", configured.capabilities)
	}
	named := false
	readRAMSections(r, configured.pageBytes(), func(flags, address uint64) {
		content := flags &^ flagContinue
		switch {
		case flags == flagMemSize:
			// The address of a block, because of x-ignore-shared.
			readBlocks(r, address, func(string, uint64) { r.skip(8) })
			return
		case content != flagZero && content != flagPage:
			r.fail("unexpected record with flags %#x in the RAM section", flags)
			return
		case flags&flagContinue == 0:
			r.name()
			named = true
		case !named:
			r.fail("a record continues a RAM block, and there is none before it")
		}
		if content == flagZero {
			r.skip(1)
		} else {
			r.skip(configured.pageBytes())
		}
	})
	devicesOffset = r.position
	checkDevices(r)
	if r.err != nil {
		return 0, fmt.Errorf("the device state is not valid %w", r.err)
	}
	return devicesOffset, nil
}
