package executor

// Status is the state of a worker, for a health endpoint.
type Status struct {
	ID        string `json:"id"`
	Connected bool   `json:"connected"` // to NATS
	Epoch     uint64 `json:"epoch"`     // of the leader that it follows; 0 before it has heard of one
	Answered  bool   `json:"answered"`  // that leader took the last report
	Draining  bool   `json:"draining"`
	Slots     int    `json:"slots"`
	Busy      int    `json:"busy"`   // slots that run a span
	Queued    int    `json:"queued"` // spans that wait for a slot
	Items     int    `json:"items"`  // finished nodes and failures kept until they are durable
	Bytes     int    `json:"bytes"`  // size of the kept items
}
