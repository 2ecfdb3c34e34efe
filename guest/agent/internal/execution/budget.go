package execution

import "sync/atomic"

// Budget bounds the memory that all kept output takes together, so that no user can make the agent outgrow its machine.
type Budget struct{ left atomic.Int64 }

// NewBudget allows bytes in all.
func NewBudget(bytes int64) *Budget {
	b := new(Budget)
	b.left.Store(bytes)
	return b
}

// take returns how many of the n bytes may be kept.
func (b *Budget) take(n int64) int64 {
	left := b.left.Add(-n)
	if left >= 0 {
		return n
	}
	back := min(-left, n)
	b.left.Add(back)
	return n - back
}

func (b *Budget) give(n int64) { b.left.Add(n) }
