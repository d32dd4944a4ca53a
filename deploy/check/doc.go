// Package check holds no code, only tests: they try what is in deploy as far as that
// can be done without a container engine, a Kubernetes cluster or a machine of one's
// own. It is a module of its own, so that what they need stays out of Bellwether's.
//
//	Dockerfile    parsed by BuildKit; its 'go build' is run, twice, and compared
//	compose.yaml  loaded by Compose's own library; its services run as processes
//	helm          linted and rendered by Helm, decoded strictly into Kubernetes' types
//	systemd       verified by systemd-analyze
//	cloud-init    decoded strictly, and by cloud-init's schema where that is installed
//	queries       parsed by Prometheus, and their names compared with what workers export
//	command lines parsed by the program that the Dockerfile builds
//
// Run them with
//
//	make deploy-check
package check
