package account

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"net"
	"net/http"
	"strings"
	"time"

	"github.com/Azure/azure-sdk-for-go/sdk/azcore"
	"github.com/Azure/azure-sdk-for-go/sdk/azidentity"
)

// These constants are the roles that an identity needs on the storage account.
const (
	BlobRole  = "Storage Blob Data Contributor"
	QueueRole = "Storage Queue Data Contributor"
)

// ErrDenied: storage does not authenticate or does not authorize the caller. Retries fail until the
// settings or the credentials change.
var ErrDenied = errors.New("access to Azure storage is denied")

// Code returns the error code in storage's answer, or "" if err is not an answer of storage.
func Code(err error) string {
	var answer *azcore.ResponseError
	if errors.As(err, &answer) {
		return answer.ErrorCode
	}
	return ""
}

// explained is an error of the SDK whose text was reduced to one line.
type explained struct {
	text   string
	denied bool
	err    error
}

func (e *explained) Error() string { return e.text }

func (e *explained) Unwrap() []error {
	if e.denied {
		return []error{e.err, ErrDenied}
	}
	return []error{e.err}
}

// Explain turns an error of the SDK, whose text has many lines, into an error of one line. The line
// names the refused request and the error code. If a fix is known, the line contains the fix, and
// the error is [ErrDenied]. The returned error wraps the SDK's error. The text of the SDK's error
// may contain the account's secrets; the text of the returned error does not contain secrets.
func (a *Account) Explain(err error) error {
	if err == nil {
		return nil
	}
	if done, ok := errors.AsType[*explained](err); ok {
		if text := a.redact(err, err.Error()); text != err.Error() {
			return &explained{err: err, text: text, denied: done.denied}
		}
		return err
	}
	e := a.explain(err)
	e.text = oneLine(a.redact(err, e.text))
	return e
}

func (a *Account) explain(err error) *explained {
	var (
		answer   *azcore.ResponseError
		identity *azidentity.AuthenticationFailedError
		host     *net.DNSError
	)
	switch {
	case errors.As(err, &answer):
		return a.explainAnswer(answer, err)
	case errors.As(err, &identity), a.credential != nil && isUnavailable(err):
		return &explained{err: err, denied: true, text: "cannot sign in with an identity: run az login, " +
			"or give this machine a managed or workload identity, or use a connection string: " + err.Error()}
	case errors.As(err, &host) && host.IsNotFound:
		return &explained{err: err, text: fmt.Sprintf("there is no host %s: is the account's name right? (%v)", host.Name, err)}
	}
	return &explained{err: err, text: err.Error()}
}

// oneLine joins the lines of a text, and drops lines of dashes.
func oneLine(text string) string {
	var parts []string
	for line := range strings.Lines(text) {
		if line = strings.TrimSpace(line); strings.Trim(line, "-") != "" {
			parts = append(parts, line)
		}
	}
	return strings.Join(parts, "; ")
}

// isUnavailable reports whether no credential of azidentity's chain worked. The type of
// azidentity's error is not exported, but the error has the exported method NonRetriable.
func isUnavailable(err error) bool {
	var final interface{ NonRetriable() }
	return errors.As(err, &final) && !errors.Is(err, context.Canceled) && !errors.Is(err, context.DeadlineExceeded)
}

func (a *Account) explainAnswer(answer *azcore.ResponseError, err error) *explained {
	text := fmt.Sprintf("%d %s", answer.StatusCode, cmp.Or(answer.ErrorCode, http.StatusText(answer.StatusCode)))
	var service Service
	if answer.RawResponse != nil && answer.RawResponse.Request != nil {
		request := answer.RawResponse.Request
		service = a.service(request.URL)
		text = fmt.Sprintf("%s %s: %s", Classify(service, request), request.URL.Path, text)
	}
	advice := a.advice(answer, service)
	if advice != "" {
		text += ": " + advice
	}
	return &explained{err: err, text: text, denied: advice != ""}
}

// maxSkew is the clock skew that Azure allows.
const maxSkew = 15 * time.Minute

// skew returns approximately how far this machine's clock is ahead of storage's clock.
func skew(resp *http.Response) time.Duration {
	if resp == nil {
		return 0
	}
	date, err := http.ParseTime(resp.Header.Get("Date"))
	if err != nil {
		return 0
	}
	return time.Since(date).Round(time.Minute)
}

// advice returns how to fix an error that retries cannot fix, or "" if no fix is known.
func (a *Account) advice(answer *azcore.ResponseError, service Service) string {
	switch answer.ErrorCode {
	case "AuthenticationFailed", "AuthorizationFailure", "InvalidAuthenticationInfo", "NoAuthenticationInformation":
		if off := skew(answer.RawResponse); off.Abs() > maxSkew/3 {
			ahead := "ahead of"
			if off < 0 {
				ahead = "behind"
			}
			return fmt.Sprintf("this machine's clock is %v %s Azure's, which allows %v: set it, with NTP for instance", off.Abs(), ahead, maxSkew)
		}
		if answer.ErrorCode == "AuthorizationFailure" {
			return a.refused() + "; or the account's firewall (Networking) does not admit this machine"
		}
		return a.refused()
	case "AuthorizationPermissionMismatch", "InsufficientAccountPermissions":
		return a.notAllowed(service)
	case "AuthorizationServiceMismatch", "AuthorizationResourceTypeMismatch":
		return "the SAS does not cover this: " + sasAdvice
	case "AuthorizationProtocolMismatch":
		return "the SAS is for HTTPS only: begin the URL with https://"
	case "AuthorizationSourceIPMismatch":
		return "the SAS is for other IP addresses than this machine's: " + sasAdvice
	case "KeyBasedAuthenticationNotPermitted":
		return "the account does not permit keys: give its URL instead of a connection string, to sign in with an identity"
	case "PublicAccessNotPermitted":
		return "the request was not signed: " + a.refused()
	case "AccountIsDisabled":
		return "the storage account is disabled: check its subscription"
	case "InvalidResourceName", "OutOfRangeInput":
		return "Azure does not allow the name of the container or queue"
	}
	return ""
}

// refused returns how to fix a failed authentication.
func (a *Account) refused() string {
	switch {
	case a.credential != nil:
		return "the token was not accepted: check that the identity is in the account's tenant (az login --tenant …)"
	case a.sas != "":
		return "the SAS was not accepted: it has expired, is not valid yet, was cut short, or its key was rotated: " + sasAdvice
	default:
		return "the key was not accepted: it is another account's, or was rotated: copy the connection string again " +
			"(az storage account show-connection-string)"
	}
}

// notAllowed returns how to fix a failed authorization.
func (a *Account) notAllowed(service Service) string {
	if a.credential == nil {
		return "the SAS does not allow this: " + sasAdvice
	}
	role := BlobRole
	if service == Queue {
		role = QueueRole
	}
	return fmt.Sprintf("the identity lacks a role: give it %q on the storage account (az role assignment create --role %q …), "+
		"and wait up to ten minutes for it to take effect; it needs %q and %q", role, role, BlobRole, QueueRole)
}
