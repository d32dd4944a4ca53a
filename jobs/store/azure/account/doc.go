// Package account signs in to an Azure storage account, for all that use one: the
// storage driver and the lease. It stands below both and knows neither.
//
//	election/bloblease    jobs/store/azure
//	          \              /
//	           jobs/store/azure/account      azblob, azqueue, azidentity
//
// There are three ways to sign in:
//
//   - a connection string: the account's key, or a SAS in one;
//   - the account's URL with an account SAS;
//   - the account's URL alone: azidentity's default chain, which tries environment
//     variables, workload identity, managed identity and the developer tools (az
//     login) in that order.
//
// An identity needs two roles on the storage account, [BlobRole] and [QueueRole].
// An account SAS needs the services bq, the resource types co and the permissions
// rwdlacup.
//
// What can fail: [Open] refuses what cannot work at all and makes no call. Later,
// storage refuses: [Account.Explain] turns what the SDK returns into one line that
// says what was refused, by which code, and what to do about it; [ErrDenied] marks
// what will be refused again until somebody does that.
//
// Azurite was seen to take keys, SAS and tokens, and to refuse wrong ones. What Azure
// alone answers (a missing role, a firewall, a clock that is off, keys not permitted)
// is tested with answers made after its documentation.
//
// [Counter] counts the requests by kind and outcome, each try for itself, as Azure
// bills them. A request whose answer was lost counts as well.
package account
