// Package report draws a run as one HTML page that opens offline: who ran
// where over time, what was in use, how many jobs waited, how long and for
// what, and the tables of package outcome.
//
// Input is an [outcome.Run] and its [outcome.Figures]; [Append] returns the
// page. It refers to nothing outside itself: the pictures are inline SVG, the
// style is embedded, and the one script (which names the job under the
// pointer) may be absent.
//
// Plots stretch: the drawing scales with the page while text stays text, so
// that the page reads on a wide screen and on a phone, on light and on dark.
//
// Equal runs give equal bytes. A page of 8,000 jobs takes less than 1 MB; when
// there are more than 60,000 rectangles, the shortest are left out and counted.
//
// Deciding and measuring is left to others.
package report
