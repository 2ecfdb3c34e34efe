package stream

import (
	"fmt"
	"io"
)

const (
	mappedRAM          = "mapped-ram"
	ignoreShared       = "x-ignore-shared"
	mappedRAMVersion   = 1
	bitmapWordBits     = 64
	maxDeviceBytes     = 64 << 20
	maxFileBytes       = 1 << 48
	maxStateFileBytes  = 1 << 30
	minimumDeviceBytes = 1
)

// Block is a RAM block of a file that was saved with mapped RAM. All of it is inside the file.
type Block struct {
	Name      string
	Length    uint64
	PageBytes uint64
	// BitmapOffset is where the bitmap starts: 64-bit little-endian words, a set bit for each page that is not zero.
	BitmapOffset uint64
	BitmapBytes  uint64
	// PagesOffset is where the pages start, at their offsets in the block. Pages whose bit is clear may have stale content.
	PagesOffset uint64
}

// Saved is a file that was saved with the capability mapped-ram.
type Saved struct {
	Blocks []Block
	// DevicesOffset is where the devices start. They took the rest of the file when it was parsed.
	DevicesOffset uint64
	// DevicesBytes is at most maxDeviceBytes, however large the file becomes.
	DevicesBytes uint64
}

// ParseSaved finds memory and devices in a file that was saved with mapped-ram and without x-ignore-shared.
func ParseSaved(file io.ReaderAt, size uint64) (Saved, error) {
	var saved Saved
	if size > maxFileBytes {
		return saved, fmt.Errorf("the saved file has %d bytes", size)
	}
	r := newReader(file, size)
	configured := readHeader(r)
	if r.err == nil && (!configured.has(mappedRAM) || configured.has(ignoreShared)) {
		r.fail("the file must be saved with mapped-ram and without x-ignore-shared; it has %.200q", configured.capabilities)
	}
	readRAMSections(r, configured.pageBytes(), func(flags, address uint64) {
		if flags != flagMemSize || saved.Blocks != nil {
			r.fail("unexpected record with flags %#x in mapped RAM", flags)
			return
		}
		saved.Blocks = []Block{}
		readBlocks(r, address, func(name string, length uint64) {
			saved.Blocks = append(saved.Blocks, readMappedBlock(r, name, length, configured.pageBytes()))
		})
	})
	saved.DevicesOffset, saved.DevicesBytes = r.position, r.left()
	checkDevices(r)
	if r.err != nil {
		return Saved{}, fmt.Errorf("the saved file is not valid %w", r.err)
	}
	return saved, nil
}

// readMappedBlock reads the header of a block and moves on to what follows the block's pages.
func readMappedBlock(r *reader, name string, length, pageBytes uint64) Block {
	version, ownPageBytes, bitmapOffset, pagesOffset := r.uint32(), r.uint64(), r.uint64(), r.uint64()
	pages := length / pageBytes
	bitmapBytes := (pages + bitmapWordBits - 1) / bitmapWordBits * (bitmapWordBits / 8)
	switch {
	case r.err != nil:
		return Block{}
	case version != mappedRAMVersion || ownPageBytes != pageBytes || length%pageBytes != 0:
		r.fail("RAM block %.64q: version %d, pages of %d bytes", name, version, ownPageBytes)
	case bitmapOffset < r.position || bitmapOffset > r.size || bitmapBytes > r.size-bitmapOffset:
		r.fail("the bitmap of RAM block %.64q is outside the file", name)
	case pagesOffset < bitmapOffset+bitmapBytes || pagesOffset > r.size || length > r.size-pagesOffset || pagesOffset%pageBytes != 0:
		r.fail("the pages of RAM block %.64q are outside the file", name)
	default:
		r.position = pagesOffset + length
	}
	return Block{
		Name: name, Length: length, PageBytes: pageBytes, BitmapOffset: bitmapOffset, BitmapBytes: bitmapBytes, PagesOffset: pagesOffset,
	}
}

// checkDevices limits what follows the RAM sections.
func checkDevices(r *reader) {
	if count := r.left(); r.err == nil && (count < minimumDeviceBytes || count > maxDeviceBytes) {
		r.fail("%d bytes of devices follow the RAM: expected 1 to %d", count, maxDeviceBytes)
	}
}
