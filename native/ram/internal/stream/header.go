package stream

import "slices"

const (
	fileMagic   = 0x5145564d // "QEVM"
	fileVersion = 3
)

// The types of sections.
const (
	sectionStart         = 1
	sectionPart          = 2
	sectionEnd           = 3
	sectionSubsection    = 5
	sectionConfiguration = 7
	sectionCommand       = 8
	sectionFooter        = 0x7e
)

const (
	maxMachineTypeBytes = 256
	maxCapabilities     = 64
	defaultPageBits     = 12
	maxPageBits         = 16
	uuidBytes           = 16
)

// configuration is what a file says about itself before its first section.
type configuration struct {
	pageBits     uint32
	capabilities []string
}

func (c configuration) has(capability string) bool {
	return slices.Contains(c.capabilities, capability)
}

func (c configuration) pageBytes() uint64 { return 1 << c.pageBits }

// readHeader reads everything before the first section.
func readHeader(r *reader) configuration {
	found := configuration{pageBits: defaultPageBits}
	if magic := r.uint32(); magic != fileMagic {
		r.fail("the file is no migration file of QEMU")
	}
	if version := r.uint32(); version != fileVersion {
		r.fail("version %d of the migration file is not supported", version)
	}
	if section := r.byte(); section != sectionConfiguration {
		r.fail("expected the configuration, found section type %d", section)
	}
	length := r.uint32()
	if length > maxMachineTypeBytes {
		r.fail("the machine type has %d bytes", length)
	}
	r.skip(uint64(length))
	for r.err == nil && r.peek() == sectionSubsection {
		r.skip(1)
		readSubsection(r, &found)
	}
	if found.pageBits < defaultPageBits || found.pageBits > maxPageBits {
		r.fail("pages of 2^%d bytes are not supported", found.pageBits)
	}
	return found
}

func readSubsection(r *reader, found *configuration) {
	name := r.name()
	if version := r.uint32(); version != 1 {
		r.fail("version %d of %.64q is not supported", version, name)
	}
	switch name {
	case "configuration/target-page-bits":
		found.pageBits = r.uint32()
	case "configuration/uuid":
		r.skip(uuidBytes)
	case "configuration/capabilities":
		for count := r.uint32(); count > 0 && r.err == nil; count-- {
			if len(found.capabilities) == maxCapabilities {
				r.fail("the file lists too many capabilities")
			}
			found.capabilities = append(found.capabilities, r.name())
		}
	default:
		r.fail("the configuration has the unknown part %.64q", name)
	}
}

// peek returns the next byte without moving on.
func (r *reader) peek() byte {
	next := r.byte()
	if r.err == nil {
		r.position--
	}
	return next
}
