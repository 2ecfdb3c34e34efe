package stream

const (
	ramSection        = "ram"
	ramSectionVersion = 4
)

// Flags in the low bits of a record's address.
const (
	flagZero     = 0x02
	flagMemSize  = 0x04
	flagPage     = 0x08
	flagEnd      = 0x10
	flagContinue = 0x20
)

// switchoverStart is the only command among the RAM sections: its number in 16 bits, then 16 bits for the length of its data. QEMU sends it
// when the virtual CPUs stand still.
const switchoverStart = 11 << 16

const maxBlocks = 256

// readRAMSections reads the RAM section's start, parts and end, which precede all devices, and stops at the first device. The record's
// address comes without flags.
func readRAMSections(r *reader, pageBytes uint64, record func(flags, address uint64)) {
	if kind := r.byte(); kind != sectionStart {
		r.fail("expected the start of the RAM section, found section type %d", kind)
	}
	section := r.uint32()
	if name := r.name(); name != ramSection {
		r.fail("expected the RAM section, found %.64q", name)
	}
	r.skip(4) // the instance
	if version := r.uint32(); version != ramSectionVersion {
		r.fail("version %d of the RAM section is not supported", version)
	}
	for kind := byte(sectionStart); r.err == nil; {
		readRecords(r, pageBytes, record)
		readFooter(r, section)
		if kind == sectionEnd {
			return
		}
		for kind = r.byte(); kind == sectionCommand && r.err == nil; kind = r.byte() {
			if command := r.uint32(); command != switchoverStart {
				r.fail("unexpected command %#x", command)
			}
		}
		if kind != sectionPart && kind != sectionEnd {
			r.fail("expected more of the RAM section, found section type %d", kind)
		}
		if other := r.uint32(); other != section {
			r.fail("expected more of the RAM section, found section %d", other)
		}
	}
}

func readRecords(r *reader, pageBytes uint64, record func(flags, address uint64)) {
	for r.err == nil {
		word := r.uint64()
		flags, address := word&(pageBytes-1), word&^(pageBytes-1)
		if flags == flagEnd {
			return
		}
		if r.err == nil {
			record(flags, address)
		}
	}
}

func readFooter(r *reader, section uint32) {
	if kind := r.byte(); kind != sectionFooter {
		r.fail("expected the end of a section, found type %d", kind)
	}
	if other := r.uint32(); other != section {
		r.fail("section %d ends as section %d", section, other)
	}
}

// readBlocks calls block for each RAM block's name and length, until the lengths add up to total.
func readBlocks(r *reader, total uint64, block func(name string, length uint64)) {
	for count := 0; r.err == nil && total > 0; count++ {
		name, length := r.name(), r.uint64()
		if length == 0 || length > total || count == maxBlocks {
			r.fail("RAM block %.64q of %d bytes does not fit: %d bytes are left", name, length, total)
			return
		}
		total -= length
		block(name, length)
	}
}
