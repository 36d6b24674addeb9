package policy

// Resolve is where a spelled path really is on a host: absolute, every link
// followed as far as there is something, the rest as spelled. It is the same walk
// that Compile makes for the entries of a policy.
func Resolve(fs FS, path string) string { return newResolver(fs).resolve(path).Path }
