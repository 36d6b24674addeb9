// Package stage is the process inside the sandbox: pid 1, which opens sockets
// for the supervisor, verifies the mounts, puts the filters on itself and starts
// the command. What it receives is a Value; it decides nothing.
//
// A binary that imports this package can be its own stage: started with Word as
// its only argument, it becomes the stage in this package's init and never
// reaches main. This is the one init of gosrt that has an effect, and it is one
// so that the others have none: the Go specification initializes packages in
// order of their import paths as soon as their imports are, so with nothing
// imported but os, syscall and golang.org/x/sys/unix, the stage
// runs before net/http, the proxies and whatever else the binary links is
// initialized. Nothing of them ever runs inside, and a start is faster by their
// initialization. Users of the library need no call at the top of their main.
package stage
