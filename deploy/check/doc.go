// Package check contains only tests. The tests check the files in deploy without a container
// engine, a Kubernetes cluster or a virtual machine. Package check is a separate module, so its
// dependencies are not dependencies of Bellwether.
//
//	Dockerfile    parsed by BuildKit; its go build command runs twice, and both programs are equal
//	compose.yaml  loaded by Compose; its NATS configuration and worker command run as processes
//	helm          linted and rendered by Helm, decoded strictly into Kubernetes' types, and
//	              compared with testdata/rendered (go test -update rewrites it)
//	systemd       verified by systemd-analyze
//	cloud-init    decoded strictly, and its installation script runs
//	release       built twice in two folders for this platform, and all files are equal
//	queries       parsed by Prometheus, and compared with the metrics of a running leader
//	commands      of all these files and of the documents: parsed by the program
//
// The tests use Go libraries instead of command line tools, because kubeconform downloads its
// schemas, promtool can read neither dashboards nor KEDA's queries, and docker compose needs an
// installed plugin.
//
// The shell script in the folder containers runs compose.yaml on a container engine, and the scripts
// in the folder kubernetes run the chart on Kubernetes with KEDA.
//
//	make deploy-check container-check kube-check
package check
