package jobs

// Preview describes the input of a job. The function Preview of a [Definition] returns it.
type Preview struct {
	Columns []PreviewColumn `json:"columns"`
	Objects int             `json:"objects"` // number of objects that the job reads
	Bytes   int64           `json:"bytes"`   // size of the objects in bytes, compressed or not
}

// PreviewColumn is a column of a job's input.
type PreviewColumn struct {
	Name string `json:"name"`
	Type string `json:"type"`
}
