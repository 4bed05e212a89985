package claim

import "slices"

// Live answers the documents of the runs that this process carries now, the newest
// first.
func (s *Service) Live() []Document {
	s.mu.Lock()
	tickets := make([]*Ticket, 0, len(s.live))
	for _, t := range s.live {
		tickets = append(tickets, t)
	}
	s.mu.Unlock()
	slices.SortFunc(tickets, func(a, b *Ticket) int { return int(b.Run.Seq - a.Run.Seq) })
	docs := make([]Document, len(tickets))
	for i, t := range tickets {
		docs[i] = t.Document()
	}
	return docs
}

// Changed answers a channel that is closed when a run of this process begins, takes a
// step, settles a row or ends.
func (s *Service) Changed() <-chan struct{} {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.changed
}

// tell wakes those who watch.
func (s *Service) tell() {
	s.mu.Lock()
	defer s.mu.Unlock()
	close(s.changed)
	s.changed = make(chan struct{})
}
