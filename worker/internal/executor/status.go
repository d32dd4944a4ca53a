package executor

// Status is the state of a worker, for a health endpoint.
type Status struct {
	ID        string `json:"id"`
	Connected bool   `json:"connected"` // the worker is connected to NATS
	Epoch     uint64 `json:"epoch"`     // epoch of the leader that the worker follows; 0 before the first leader
	Answered  bool   `json:"answered"`  // the leader has accepted the last report that it answered
	Draining  bool   `json:"draining"`
	Slots     int    `json:"slots"`
	Usable    int    `json:"usable"` // number of slots that are not blocked by user code that does not return
	Busy      int    `json:"busy"`   // number of slots that run a span
	Queued    int    `json:"queued"` // number of spans that wait for a slot
	Items     int    `json:"items"`  // number of finished nodes and failures that are not durable yet
	Bytes     int    `json:"bytes"`  // total size in bytes of the results that are not durable yet
	Nodes     int    `json:"nodes"`  // number of large partials that the worker holds
	Held      uint64 `json:"held"`   // total size in bytes of the large partials
}
