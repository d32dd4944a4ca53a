package jetstream

import (
	"context"
	"errors"

	"github.com/nats-io/nats.go"
	"github.com/nats-io/nats.go/jetstream"
)

// last returns the last message of a subject, or jetstream.ErrMsgNotFound.
//
// The leader of the stream answers the request, because a lagging replica could return an old
// message. If [Driver.direct] is set, the stream has no replicas. Reads of a stream without
// replicas are direct. The subject of a direct read contains the key, so that permissions can be
// limited to some keys.
func (d *Driver) last(ctx context.Context, stream jetstream.Stream, subject string) (*jetstream.RawStreamMsg, error) {
	if d.direct {
		return stream.GetLastMsgForSubject(ctx, subject)
	}
	// The older API of the NATS client reads from the leader of the stream even if the stream
	// allows direct reads; package jetstream does not.
	ctx, cancel := d.bounded(ctx)
	defer cancel()
	msg, err := d.leaderReads.GetLastMsg(stream.CachedInfo().Config.Name, subject, nats.Context(ctx))
	if errors.Is(err, nats.ErrMsgNotFound) {
		return nil, jetstream.ErrMsgNotFound
	}
	if api, ok := errors.AsType[*nats.APIError](err); ok {
		return nil, &jetstream.APIError{Code: api.Code, ErrorCode: jetstream.ErrorCode(api.ErrorCode), Description: api.Description}
	}
	if err != nil {
		return nil, err
	}
	return &jetstream.RawStreamMsg{Subject: msg.Subject, Sequence: msg.Sequence, Header: msg.Header, Data: msg.Data, Time: msg.Time}, nil
}

// standalone reports whether the server that keeps a stream is not part of a cluster. A stream
// outside a cluster has no replicas and cannot get replicas.
func standalone(stream jetstream.Stream) bool {
	info := stream.CachedInfo()
	return info.Cluster == nil || info.Cluster.Name == ""
}
