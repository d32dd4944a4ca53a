package sim

// drawInline makes leaders of some seeds refuse partials of more than 4 KiB in reports, as those of a cluster with many slots do.
// Workers then hold partials that are not large otherwise.
func (s *Sim) drawInline(seed uint64) {
	if seed%4 != 2 {
		return
	}
	c := newRNG(seed*0x9e3779b97f4a7c15 + 3)
	if !c.chance(0.3) {
		return
	}
	s.scenario.ledger.PartialBytes = 1
	for i := range s.scenario.jobs {
		if job := &s.scenario.jobs[i]; job.pad == 0 && c.chance(0.5) {
			job.pad = 5 << 10
		}
	}
}
