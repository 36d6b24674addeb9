//go:build !unix

package sandbox

import "os"

// leadsOut is of no use where there is no sandbox.
func leadsOut(*os.File) bool { return false }
