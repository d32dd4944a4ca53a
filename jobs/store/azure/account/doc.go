// Package account signs in to an Azure storage account, for the storage driver and the lease. The
// package is internal to Bellwether.
//
//	election/bloblease    jobs/store/azure
//	          \              /
//	           jobs/store/azure/account      azblob, azqueue, azidentity
//
// There are three ways to sign in:
//
//   - a connection string, which contains the account's key or a SAS;
//   - the account's URL with an account SAS;
//   - the account's URL without a SAS: azidentity's default chain, which tries
//     environment variables, workload identity, managed identity and developer tools
//     (az login), in that order.
//
// An identity needs two roles on the storage account, [BlobRole] and [QueueRole]. An account SAS
// needs the services "bq" (blob and queue), the resource types "co" (container and object) and the
// permissions "rwdlacup".
//
// [Open] returns an error for a configuration that cannot work, and makes no request. If storage
// refuses a later request, [Account.Explain] turns the SDK's error into one line that names the
// refused request, the error code and a fix. The error is [ErrDenied] if a retry cannot succeed
// before the cause is fixed.
//
// Tests on Azurite use valid and wrong keys, SAS and tokens. Missing roles, firewalls, skewed
// clocks and keys that are not permitted occur only on Azure. Tests of errors that occur only on
// Azure use simulated responses that follow Azure's documentation.
//
// [Kind] classifies requests for error messages, fault injection and prices.
package account
