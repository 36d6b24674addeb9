package darwin

// tagPrefix starts the mark of a denial: "gosrt-TAG-NUMBER".
const tagPrefix = "gosrt-"
