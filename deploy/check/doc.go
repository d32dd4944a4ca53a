// Package check contains only tests: they check the files in deploy, without a container engine,
// a Kubernetes cluster or a virtual machine. It is a separate module, so its dependencies do not
// become Bellwether's.
//
//	Dockerfile    parsed by BuildKit; its go build command runs twice, and both programs are equal
//	compose.yaml  loaded by Compose; its NATS configuration and worker command run as processes
//	helm          linted and rendered by Helm, decoded strictly into Kubernetes' types, and
//	              compared with testdata/rendered (go test -update rewrites it)
//	systemd       verified by systemd-analyze
//	cloud-init    decoded strictly, and its installation script runs
//	queries       parsed by Prometheus, and compared with the metrics of a running leader
//	commands      of all these files and of the documents: parsed by the program
//
// The libraries stand in for the tools of the same projects: kubeconform downloads its
// schemas, promtool reads neither dashboards nor KEDA's queries, and docker compose needs
// an installed plugin.
//
//	make deploy-check
package check
