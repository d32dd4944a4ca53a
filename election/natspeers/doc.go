// Package natspeers lets the processes of a cluster talk over NATS about who
// leads: it is election.Peers on a connection.
//
//	bellwether.CLUSTER.beacon              leader ──▶ all
//	bellwether.CLUSTER.suspect             follower ──▶ all
//	bellwether.CLUSTER.epoch.N.ping        follower ──▶ leader of epoch N, which answers
//	bellwether.CLUSTER.worker.ID.offer     leader that stops ──▶ one worker, which answers
//
// This package receives beacons, suspicions and offers, and sends suspicions,
// pings and offers. Beacons are sent and pings are answered where the leading
// loop turns, so that one that stands still is noticed.
//
// # What can fail
//
//   - Garbage, messages of an unknown version, and messages that name no epoch or
//     an impossible worker are logged and dropped.
//   - The connection is lost: Disconnected is reported, and Reconnected when the
//     client has reconnected and subscribed again. What was sent meanwhile is not
//     heard.
//   - The events are not read: the client buffers about a thousand messages, then
//     drops more and reports a slow consumer to the connection's error handler.
//     All of them are sent anew or are told by storage as well.
package natspeers
