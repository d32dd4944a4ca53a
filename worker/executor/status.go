package executor

// Status is what a worker does at the moment, for a health endpoint.
type Status struct {
	ID        string `json:"id"`
	Connected bool   `json:"connected"` // to NATS
	Epoch     uint64 `json:"epoch"`     // of the leader it follows; 0 until it has heard of one
	Answered  bool   `json:"answered"`  // that leader has answered its last report
	Draining  bool   `json:"draining"`
	Slots     int    `json:"slots"`
	Busy      int    `json:"busy"`   // slots that run a span
	Queued    int    `json:"queued"` // spans that wait for a slot
	Items     int    `json:"items"`  // finished nodes and failures kept until they are durable
	Bytes     int    `json:"bytes"`  // what the kept partials take in memory
}
