package memory

import "sync"

// Operation names a call of a driver's interfaces.
type Operation string

// The operations of Blobs, of Queue and of its messages.
const (
	Get     Operation = "get"
	Put     Operation = "put"
	Delete  Operation = "delete"
	List    Operation = "list"
	Send    Operation = "send"
	Receive Operation = "receive" // its call is over once a message is there
	Extend  Operation = "extend"
	Discard Operation = "discard" // a message's Delete
)

// Call is a moment of a call.
type Call struct {
	Operation Operation
	Key       string // or the prefix of List; empty for those of a queue
	Done      bool   // false before the operation, true after it
}

// Fault is asked before and after each operation. An error before keeps the
// operation from being done; one after hides that it was: the answer is lost. A
// message that Receive took stays hidden then for as long as any other. It is
// called from the goroutine of the call, and may block, or call the driver.
type Fault func(Call) error

type injector struct {
	mu    sync.Mutex
	fault Fault
}

// Inject sets the fault, in place of an earlier one; nil for none.
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

// around performs an operation between its two moments. An error of its own goes
// before that of a fault.
func (i *injector) around(operation Operation, key string, do func() error) error {
	if err := i.check(Call{operation, key, false}); err != nil {
		return err
	}
	if err := do(); err != nil {
		return err
	}
	return i.check(Call{operation, key, true})
}
