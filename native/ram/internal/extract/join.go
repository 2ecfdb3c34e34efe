package extract

import "iter"

// join returns the runs of memory with at most limit extents. Where there are more, runs that are close to each other become one stored run
// with all that is between them, unchanged and zero units too; the distance grows until the extents fit.
func (c *comparison) join(limit int) iter.Seq[run] {
	joined := c.runs()
	for gap := 2 * c.unit; !fits(joined, limit); gap *= 2 {
		joined = joinCloserThan(gap, c.runs())
	}
	return joined
}

// fits tells whether the runs are at most limit extents.
func fits(runs iter.Seq[run], limit int) bool {
	count := 0
	for next := range runs {
		if next.class != zero {
			count++
		}
		if count > limit {
			return false
		}
	}
	return true
}

// joinCloserThan replaces every sequence of runs that are stored, or shorter than gap, by one stored run, unless the sequence has only one
// extent. It leaves out zero runs. There are never more extents than before, and at most one more than memory has gaps.
func joinCloserThan(gap uint64, runs iter.Seq[run]) iter.Seq[run] {
	return func(yield func(run) bool) {
		var sequence run
		extents := 0
		for next := range runs {
			if next.class != stored && next.extent.Length >= gap {
				if extents > 0 && !yield(sequence) {
					return
				}
				extents = 0
				if next.class != zero && !yield(next) {
					return
				}
				continue
			}
			if next.class == zero {
				continue
			}
			if extents++; extents == 1 {
				sequence = next
				continue
			}
			sequence.class = stored
			sequence.extent.Length = next.extent.End() - sequence.extent.Guest
		}
		if extents > 0 {
			yield(sequence)
		}
	}
}
