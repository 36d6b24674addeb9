// Package projectcache keeps one private cache directory per project, outside
// every checkout, for the toolchains that run inside the sandbox: what runs
// there must not reach the host's own caches, and starting from an empty one
// each time would be slow.
//
// What lies in a cache was written by sandboxed commands, so nothing here
// follows a link out of it, and what is known about an entry (its project) is
// kept beside the writable part, not in it:
//
//	Root/NAME-HASH/project   the project's path
//	Root/NAME-HASH/lock      held shared while a command runs
//	Root/NAME-HASH/data/     writable inside
//
// Which variables point into data is package policy's business.
package projectcache
