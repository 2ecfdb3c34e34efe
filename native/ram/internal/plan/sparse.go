package plan

import (
	"errors"
	"fmt"
	"os"
	"syscall"
)

// What lseek(2) calls SEEK_DATA and SEEK_HOLE.
const (
	seekData = 3
	seekHole = 4
)

// Data runs that are closer than this are one extent. Reading such a small hole costs less than another mapping.
const smallestGap = 64 << 10

// OfSparseFile is the plan of a template: a single layer, the RAM file, of which the holes are left out.
func OfSparseFile(ram *os.File, ramBytes, unit uint64) (Plan, error) {
	if err := CheckRAMBytes(ramBytes, unit); err != nil {
		return Plan{}, err
	}
	info, err := ram.Stat()
	if err != nil {
		return Plan{}, err
	}
	if uint64(info.Size()) != ramBytes {
		return Plan{}, fmt.Errorf("the RAM file has %d bytes, the machine's RAM %d", info.Size(), ramBytes)
	}
	for gap := uint64(smallestGap); ; gap *= 2 {
		extents, err := dataRuns(ram, ramBytes, unit, gap)
		if err != nil {
			return Plan{}, err
		}
		if len(extents) <= MaxExtents {
			return Plan{Layers: 1, RAMBytes: ramBytes, Extents: extents}, nil
		}
	}
}

// dataRuns lists the parts of a file that have data, joined where the hole between two is smaller than gap. It stops after MaxExtents+1.
func dataRuns(file *os.File, size, unit, gap uint64) ([]Extent, error) {
	var extents []Extent
	for position := uint64(0); position < size && len(extents) <= MaxExtents; {
		data, err := file.Seek(int64(position), seekData)
		if errors.Is(err, syscall.ENXIO) {
			break
		}
		if err != nil {
			return nil, fmt.Errorf("find data in the RAM file: %w", err)
		}
		hole, err := file.Seek(data, seekHole)
		if err != nil {
			return nil, fmt.Errorf("find a hole in the RAM file: %w", err)
		}
		start := uint64(data) / unit * unit
		end := min(size, (uint64(hole)+unit-1)/unit*unit)
		if start >= size || end <= position {
			break
		}
		position = end
		if last := len(extents) - 1; last >= 0 && start < extents[last].End()+gap {
			extents[last].Length = end - extents[last].Guest
			continue
		}
		extents = append(extents, Extent{Guest: start, Offset: start, Length: end - start})
	}
	return extents, nil
}
