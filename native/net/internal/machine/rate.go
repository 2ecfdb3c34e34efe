package machine

import "mayfly/net/internal/rate"

const (
	// burstSeconds is how many seconds' worth of queries may come at once.
	burstSeconds = 2
	// fairShares is the number of machines that can each use their fair share of the total rate at the same time.
	fairShares = 25
)

// TotalRate limits the queries of all machines together. Half of the burst is kept for machines that use no more than their fair
// share, so that a few busy machines cannot take the lookups of the others.
type TotalRate struct {
	all       *rate.Bucket
	perSecond float64
}

// NewTotalRate creates the limit that all machines share.
func NewTotalRate(perSecond float64) *TotalRate {
	return &TotalRate{all: rate.NewBucket(perSecond, burstSeconds*perSecond), perSecond: perSecond}
}

// queryRate limits the queries of one machine.
type queryRate struct {
	own   *rate.Bucket
	fair  *rate.Bucket
	total *TotalRate
}

func (r *TotalRate) forMachine() *queryRate {
	fair := r.perSecond / fairShares
	return &queryRate{
		own:   rate.NewBucket(queriesPerSecond, queryBurst),
		fair:  rate.NewBucket(fair, max(1, burstSeconds*fair)),
		total: r,
	}
}

// take reports whether the machine may ask now.
func (r *queryRate) take() bool {
	if !r.own.Take() {
		return false
	}
	if r.fair.Take() {
		return r.total.all.Take()
	}
	return r.total.all.TakeAbove(r.total.all.Burst / 2)
}
