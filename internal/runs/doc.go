// Package runs keeps the record of each running sandbox of this user, for gosrt
// ps and gosrt log. A record is a file of report lines in a private directory
// inside gosrt's state directory, which no policy opens to a command. Whoever
// made it holds a lock on it; one that is not locked was left by a gosrt that was
// killed, and is removed by whoever finds it.
//
// What the lines mean is internal/report's.
package runs
