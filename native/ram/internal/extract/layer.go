package extract

import (
	"bytes"
	"iter"
	"os"

	"mayfly/ram/internal/plan"
)

// writeLayer writes the units of the stored runs to the layer, without gaps, and returns the plan of all runs and the bytes that were written.
// Zero units between them are holes of the file.
func writeLayer(layer *os.File, source *source, runs iter.Seq[run], settings Settings) (plan.Plan, uint64, error) {
	composed := plan.Plan{Layers: uint32(settings.Keep) + 1, RAMBytes: settings.RAMBytes}
	buffer := make([]byte, windowBytes)
	layerBytes, storedBytes := uint64(0), uint64(0)
	for next := range runs {
		if next.class == zero {
			continue
		}
		extent := next.extent
		if next.class == stored {
			extent.Layer, extent.Offset = uint32(settings.Keep), layerBytes
			for done := uint64(0); done < extent.Length; done += windowBytes {
				part := buffer[:min(windowBytes, extent.Length-done)]
				if _, err := source.readSaved(part, extent.Guest+done); err != nil {
					return plan.Plan{}, 0, err
				}
				written, err := writeSparse(layer, part, layerBytes+done, settings.Unit)
				if err != nil {
					return plan.Plan{}, 0, err
				}
				storedBytes += written
			}
			layerBytes += extent.Length
		}
		composed.Extents = append(composed.Extents, extent)
	}
	// The last units may be holes.
	if err := layer.Truncate(int64(layerBytes)); err != nil {
		return plan.Plan{}, 0, err
	}
	return composed, storedBytes, composed.Check(settings.Unit)
}

// writeSparse writes the units that are not zero and returns how many bytes that were.
func writeSparse(file *os.File, content []byte, offset, unit uint64) (uint64, error) {
	zeros := make([]byte, unit)
	isZero := func(position uint64) bool { return bytes.Equal(content[position:position+unit], zeros) }
	written, length := uint64(0), uint64(len(content))
	for position := uint64(0); position < length; {
		if isZero(position) {
			position += unit
			continue
		}
		start := position
		for position < length && !isZero(position) {
			position += unit
		}
		if _, err := file.WriteAt(content[start:position], int64(offset+start)); err != nil {
			return 0, err
		}
		written += position - start
	}
	return written, nil
}
