package account

import (
	"net/http"
	"strings"
)

// Service is a service of a storage account.
type Service string

const (
	Blob  Service = "blob"
	Queue Service = "queue"
)

// Kind is the operation of a request.
type Kind string

const (
	AcquireLease    Kind = "acquire lease"
	ChangeLease     Kind = "change lease"
	RenewLease      Kind = "renew lease"
	ReleaseLease    Kind = "release lease"
	SetMetadata     Kind = "set metadata"
	GetProperties   Kind = "get properties"
	PutBlob         Kind = "put blob"
	GetBlob         Kind = "get blob"
	DeleteBlob      Kind = "delete blob"
	ListBlobs       Kind = "list blobs"
	CreateContainer Kind = "create container"

	SendMessage     Kind = "send message"
	ReceiveMessages Kind = "receive messages"
	UpdateMessage   Kind = "update message"
	DeleteMessage   Kind = "delete message"
	CreateQueue     Kind = "create queue"
	GetQueue        Kind = "get queue properties"

	Other Kind = "other"
)

// Class returns the billing class of a kind of request in a general-purpose v2 account, according
// to Azure's documentation ("Map each REST operation to a price", and the pricing page of Queue
// Storage). SetMetadata and the lease operations are in the billing class "other".
func (k Kind) Class() string {
	switch k {
	case PutBlob:
		return "write"
	case GetBlob:
		return "read"
	case ListBlobs, CreateContainer:
		return "list and create container"
	case DeleteBlob:
		return "free"
	case SendMessage, UpdateMessage, DeleteMessage, CreateQueue:
		return "queue class 1"
	case ReceiveMessages, GetQueue:
		return "queue class 2"
	default:
		return "other"
	}
}

// Classify returns the kind of a request to a service.
func Classify(service Service, r *http.Request) Kind {
	if service == Queue {
		return classifyQueue(r)
	}
	query := r.URL.Query()
	switch comp := query.Get("comp"); {
	case comp == "lease":
		if action := leaseAction(r.Header); action != "" {
			return Kind(action) + " lease"
		}
	case comp == "metadata" && r.Method == http.MethodPut:
		return SetMetadata
	case comp == "list":
		return ListBlobs
	case comp != "":
	case query.Get("restype") == "container":
		if r.Method == http.MethodPut {
			return CreateContainer
		}
	case r.Method == http.MethodHead:
		return GetProperties
	case r.Method == http.MethodGet:
		return GetBlob
	case r.Method == http.MethodPut:
		return PutBlob
	case r.Method == http.MethodDelete:
		return DeleteBlob
	}
	return Other
}

// leaseAction returns the lease action of a request. leaseAction ignores the case of the header's
// name, because the SDK converts the name to the canonical form only when it sends the request.
func leaseAction(header http.Header) string {
	for name, values := range header {
		if strings.EqualFold(name, "x-ms-lease-action") && len(values) > 0 {
			return values[0]
		}
	}
	return ""
}

func classifyQueue(r *http.Request) Kind {
	query := r.URL.Query()
	switch {
	case query.Get("comp") == "metadata" && r.Method == http.MethodGet:
		return GetQueue
	case query.Get("comp") != "":
		return Other
	case strings.HasSuffix(r.URL.Path, "/messages") && r.Method == http.MethodPost:
		return SendMessage
	case strings.HasSuffix(r.URL.Path, "/messages") && r.Method == http.MethodGet && !query.Has("peekonly"):
		return ReceiveMessages
	case query.Has("popreceipt") && r.Method == http.MethodPut:
		return UpdateMessage
	case query.Has("popreceipt") && r.Method == http.MethodDelete:
		return DeleteMessage
	case r.Method == http.MethodPut:
		return CreateQueue
	}
	return Other
}
