// Package plan reads and writes the file that says which layer has which part of a machine's memory.
package plan

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"os"
)

// The limits of a plan. Each extent is a mapping of QEMU's, and Linux allows a process 65,530 of them by default.
const (
	MaxExtents  = 12_000
	MaxLayers   = 64
	MaxRAMBytes = 256 << 30
)

const (
	magic       = "MFRAM001"
	headerBytes = 24
	extentBytes = 32
	minimumUnit = 4096
	// Files are smaller than this, so sums of offsets and lengths do not overflow.
	maxOffset = 1 << 48
)

// Extent is a run of guest memory whose content is in one layer. All numbers are bytes, multiples of a page.
type Extent struct {
	Layer  uint32
	Guest  uint64
	Offset uint64
	Length uint64
}

// End is the first byte of guest memory after the extent.
func (e Extent) End() uint64 { return e.Guest + e.Length }

// Continues tells whether other can be appended to the extent.
func (e Extent) Continues(other Extent) bool {
	return e.Layer == other.Layer && e.End() == other.Guest && e.Offset+e.Length == other.Offset
}

// Plan describes all of a machine's memory. Memory in no extent is zero.
type Plan struct {
	// Layers is the number of layer files; the extents use the layers 0 to Layers-1.
	Layers   uint32
	RAMBytes uint64
	// Extents are sorted by Guest and do not overlap.
	Extents []Extent
}

// Unit is the granularity of plans on this host: the larger of 4 KiB and the host's page.
func Unit() uint64 { return uint64(max(minimumUnit, os.Getpagesize())) }

// CheckRAMBytes accepts a size of memory that a plan can describe.
func CheckRAMBytes(ramBytes, unit uint64) error {
	if ramBytes == 0 || ramBytes > MaxRAMBytes || ramBytes%unit != 0 {
		return fmt.Errorf("%d bytes of RAM: expected a multiple of %d up to %d", ramBytes, unit, uint64(MaxRAMBytes))
	}
	return nil
}

// Check refuses a plan that cannot be mapped in pages of unit bytes.
func (p Plan) Check(unit uint64) error {
	if err := CheckRAMBytes(p.RAMBytes, unit); err != nil {
		return err
	}
	if p.Layers == 0 || p.Layers > MaxLayers {
		return fmt.Errorf("the plan has %d layers: expected 1 to %d", p.Layers, MaxLayers)
	}
	if len(p.Extents) > MaxExtents {
		return fmt.Errorf("the plan has %d extents: expected at most %d", len(p.Extents), MaxExtents)
	}
	end := uint64(0)
	for index, extent := range p.Extents {
		switch {
		case extent.Layer >= p.Layers:
			return fmt.Errorf("extent %d is in layer %d of %d", index, extent.Layer, p.Layers)
		case (extent.Guest|extent.Offset|extent.Length)%unit != 0:
			return fmt.Errorf("extent %d does not consist of pages of %d bytes", index, unit)
		case extent.Guest < end:
			return fmt.Errorf("extent %d overlaps the one before it", index)
		case extent.Length == 0 || extent.Guest >= p.RAMBytes || extent.Length > p.RAMBytes-extent.Guest:
			return fmt.Errorf("extent %d is empty or outside the RAM", index)
		case extent.Offset > maxOffset:
			return fmt.Errorf("extent %d is at offset %d of its layer, which no file reaches", index, extent.Offset)
		}
		end = extent.End()
	}
	return nil
}

// Read reads a plan and checks it.
func Read(file io.ReaderAt, unit uint64) (Plan, error) {
	var header [headerBytes]byte
	if err := readFull(file, header[:], 0); err != nil {
		return Plan{}, fmt.Errorf("the plan's header: %w", err)
	}
	if string(header[:len(magic)]) != magic {
		return Plan{}, errors.New("the file is not a plan")
	}
	little := binary.LittleEndian
	count := little.Uint32(header[12:])
	if count > MaxExtents {
		return Plan{}, fmt.Errorf("the plan has %d extents: expected at most %d", count, MaxExtents)
	}
	extents := make([]byte, int(count)*extentBytes)
	if err := readFull(file, extents, headerBytes); err != nil {
		return Plan{}, fmt.Errorf("the plan's extents: %w", err)
	}
	read := Plan{Layers: little.Uint32(header[8:]), RAMBytes: little.Uint64(header[16:]), Extents: make([]Extent, 0, count)}
	for ; len(extents) > 0; extents = extents[extentBytes:] {
		read.Extents = append(read.Extents, Extent{
			Layer: little.Uint32(extents), Guest: little.Uint64(extents[8:]), Offset: little.Uint64(extents[16:]), Length: little.Uint64(extents[24:]),
		})
	}
	return read, read.Check(unit)
}

// readFull fills the buffer; the end of the file is an error.
func readFull(file io.ReaderAt, buffer []byte, offset int64) error {
	count, err := file.ReadAt(buffer, offset)
	if count == len(buffer) {
		return nil
	}
	if errors.Is(err, io.EOF) {
		return io.ErrUnexpectedEOF
	}
	return err
}

// Write writes the plan to an empty file.
func (p Plan) Write(file io.WriterAt) error {
	little := binary.LittleEndian
	bytes := make([]byte, 0, headerBytes+len(p.Extents)*extentBytes)
	bytes = append(bytes, magic...)
	bytes = little.AppendUint32(bytes, p.Layers)
	bytes = little.AppendUint32(bytes, uint32(len(p.Extents)))
	bytes = little.AppendUint64(bytes, p.RAMBytes)
	for _, extent := range p.Extents {
		bytes = little.AppendUint32(bytes, extent.Layer)
		bytes = little.AppendUint32(bytes, 0)
		bytes = little.AppendUint64(bytes, extent.Guest)
		bytes = little.AppendUint64(bytes, extent.Offset)
		bytes = little.AppendUint64(bytes, extent.Length)
	}
	_, err := file.WriteAt(bytes, 0)
	return err
}
