// Package natspeers implements election.Peers on a NATS connection.
//
//	bellwether.CLUSTER.beacon              leader ──▶ all
//	bellwether.CLUSTER.suspect             follower ──▶ all
//	bellwether.CLUSTER.epoch.N.ping        follower ──▶ leader of epoch N, which answers
//	bellwether.CLUSTER.worker.ID.offer     stopping leader ──▶ one worker, which answers
//
// The package receives beacons, suspicions and offers, and sends suspicions, pings and offers. The
// leading loop itself sends beacons and answers pings, so that followers notice a loop that hangs.
// For a leader without such a loop, [Peers.Announce] sends beacons and answers pings.
//
// # What can fail
//
//   - A message cannot be decoded, has an unknown version, or contains no epoch or an invalid
//     worker ID: it is logged and dropped.
//   - The connection is lost: the event Disconnected is reported, and Reconnected when the client
//     has reconnected and subscribed again. Messages that are sent during an outage of the
//     connection are lost.
//   - The receiver of the events is slow: the NATS client buffers about a thousand messages, then
//     drops further messages and reports a slow consumer to the connection's error handler. A
//     dropped message does no harm, because each message is either sent again or has its content in
//     storage too.
package natspeers
