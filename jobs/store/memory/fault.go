package memory

import "sync"

// Operation is the name of a driver's method.
type Operation string

// These constants are the operations of Blobs, Queue and Message.
const (
	Get     Operation = "get"
	Put     Operation = "put"
	Delete  Operation = "delete"
	List    Operation = "list"
	Send    Operation = "send"
	Receive Operation = "receive" // the operation Receive ends when a message has been received
	Extend  Operation = "extend"
	Discard Operation = "discard" // Discard is the method Delete of a message
)

// Call describes the operation for which a [Fault] is called.
type Call struct {
	Operation Operation
	Key       string // key of the operation; for List, the prefix; empty for operations of a queue
	Done      bool   // true if the fault is called after the operation, false before
}

// Fault is called before and after each operation. An error before the operation prevents the
// operation. An error after the operation is returned although the operation took effect, as if the
// response was lost. If the operation is Receive, the message stays hidden until its hide time is
// over. A Fault is called from the goroutine of the operation. A Fault may block, and may call the
// driver.
type Fault func(Call) error

type injector struct {
	mu    sync.Mutex
	fault Fault
}

// Inject sets the fault and replaces the earlier fault. Nil removes the fault.
func (i *injector) Inject(fault Fault) {
	i.mu.Lock()
	defer i.mu.Unlock()
	i.fault = fault
}

func (i *injector) check(call Call) error {
	i.mu.Lock()
	fault := i.fault
	i.mu.Unlock()
	if fault == nil {
		return nil
	}
	return fault(call)
}

// around calls the fault before and after do, whose error takes precedence over the fault's.
func (i *injector) around(operation Operation, key string, do func() error) error {
	if err := i.check(Call{operation, key, false}); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return i.check(Call{operation, key, true})
}
