package extract

import (
	"bytes"
	"iter"

	"mayfly/ram/internal/plan"
)

// class is where the content of a unit comes from.
type class byte

const (
	// zero units are in no extent.
	zero class = iota
	// kept units are in a layer of the parent.
	kept
	// stored units go to the new layer.
	stored
)

// comparison has the class of every unit of memory.
type comparison struct {
	parent plan.Plan
	unit   uint64
	count  uint64
	// Two bits for each unit.
	classes []byte
	changed uint64
}

func (c *comparison) class(index uint64) class {
	return class(c.classes[index/4] >> (index % 4 * 2) & 3)
}

// set sets the class of a unit, once.
func (c *comparison) set(index uint64, to class) {
	c.classes[index/4] |= byte(to) << (index % 4 * 2)
}

// compare reads all of both memories once.
func compare(source *source, settings Settings) (*comparison, error) {
	unit := settings.Unit
	count := settings.RAMBytes / unit
	result := &comparison{parent: source.parent, unit: unit, count: count, classes: make([]byte, (count+3)/4)}
	saved, parent, zeros := make([]byte, windowBytes), make([]byte, windowBytes), make([]byte, unit)
	cursor := extentCursor{extents: source.parent.Extents}
	extent := 0
	for guest := uint64(0); guest < settings.RAMBytes; guest += windowBytes {
		length := min(windowBytes, settings.RAMBytes-guest)
		savedFound, err := source.readSaved(saved[:length], guest)
		if err != nil {
			return nil, err
		}
		next, parentFound, err := source.readParent(parent[:length], guest, extent)
		if err != nil {
			return nil, err
		}
		extent = next
		if !savedFound && !parentFound {
			continue
		}
		for offset := uint64(0); offset < length; offset += unit {
			current, before := saved[offset:offset+unit], parent[offset:offset+unit]
			equal := bytes.Equal(current, before)
			if !equal {
				result.changed++
			}
			covering, covered := cursor.find(guest + offset)
			switch {
			case equal && covered && uint(covering.Layer) < settings.Keep:
				result.set((guest+offset)/unit, kept)
			case !bytes.Equal(current, zeros):
				result.set((guest+offset)/unit, stored)
			}
		}
	}
	return result, nil
}

// extentCursor finds the extents of ascending addresses.
type extentCursor struct {
	extents []plan.Extent
	index   int
}

func (c *extentCursor) find(guest uint64) (plan.Extent, bool) {
	for c.index < len(c.extents) && c.extents[c.index].End() <= guest {
		c.index++
	}
	if c.index == len(c.extents) || c.extents[c.index].Guest > guest {
		return plan.Extent{}, false
	}
	return c.extents[c.index], true
}

// run is a sequence of units of one class. The units of a kept run are contiguous in one layer of the parent, which extent describes. The
// extents of other runs have only the fields Guest and Length.
type run struct {
	class  class
	extent plan.Extent
}

// runs yields the longest runs, in order. Together they are all of memory.
func (c *comparison) runs() iter.Seq[run] {
	return func(yield func(run) bool) {
		cursor := extentCursor{extents: c.parent.Extents}
		var last run
		for index := range c.count {
			next := run{class: c.class(index), extent: plan.Extent{Guest: index * c.unit, Length: c.unit}}
			if next.class == kept {
				covering, _ := cursor.find(next.extent.Guest)
				next.extent.Layer = covering.Layer
				next.extent.Offset = covering.Offset + next.extent.Guest - covering.Guest
			}
			if index > 0 && last.class == next.class && (next.class != kept || last.extent.Continues(next.extent)) {
				last.extent.Length += c.unit
				continue
			}
			if index > 0 && !yield(last) {
				return
			}
			last = next
		}
		yield(last)
	}
}
