package throughput

import "github.com/nats-io/nats.go/jetstream"

// Systems returns all systems, Bellwether first.
func Systems() []System {
	return []System{
		bellwether(),
		pool(),
		natsQueueGroup(),
		jetStream("JetStream, memory", "none: kept in the server's memory", jetstream.MemoryStorage, false),
		jetStream("JetStream, file", "tasks synced to disk within 2 minutes (sync_interval)", jetstream.FileStorage, false),
		jetStream("JetStream, file, synced", "tasks synced to disk before they are acknowledged (sync_interval: always)", jetstream.FileStorage, true),
		asynqQueue("asynq", "everysec", "tasks synced to disk every second (appendfsync everysec)"),
		asynqQueue("asynq, synced", "always", "tasks synced to disk before they are acknowledged (appendfsync always)"),
		riverQueue("River", false, "tasks synced to disk within about a second (synchronous_commit off)"),
		riverQueue("River, synced", true, "tasks synced to disk before they are acknowledged (synchronous_commit on)"),
	}
}

// consumers contains the functions of worker processes, by the kind of the queue.
var consumers = map[string]consume{
	natsKind:      consumeNATS,
	jetStreamKind: consumeJetStream,
	asynqKind:     consumeAsynq,
	riverKind:     consumeRiver,
}
