/// The counts of a thread so far. Their growth with each message shows how often it passes between
/// threads.
package struct ThreadCounters: Sendable, Hashable {
  /// The number of jobs that were queued: the parts of tasks that began on the thread, without those
  /// that began within another job.
  package var jobs: UInt64 = 0
  /// The number of times that another thread woke this one, or kept it from its next sleep.
  package var wakes: UInt64 = 0

  package init() {}

  package static func - (left: Self, right: Self) -> Self {
    var difference = left
    difference.jobs -= right.jobs
    difference.wakes -= right.wakes
    return difference
  }
}
