//go:build !unix

package main

import "time"

// usage is not known here.
func usage() (user, system time.Duration, peak int64) { return 0, 0, 0 }
