// Package berth is documentation only: the contract between the library and
// the program that embeds it, and a map of the packages.
package berth
