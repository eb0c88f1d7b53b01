import HoldfastCore
import HoldfastHealthSamples

/// The merged series of the samples of all sources. Overlapping sources count once.
///
/// The series is computed by a sweep over time. At each instant, only the samples of the source
/// with the lowest rank count. Each sample contributes the part of its value that corresponds to
/// the time for which it counts. A sample of length zero counts unless a source with a lower rank
/// measures at the same instant. Each sample enters and leaves a heap once, so `n` samples take O(n
/// log n) steps, plus one for each calendar span that a sample overlaps.
struct SourceMerge: Sendable {
  /// The merged value of one span of the calendar.
  struct Sum: Sendable, Hashable {
    var bucket: Bucket
    var value: Double
  }

  /// A sample in progress.
  private struct Part: Sendable {
    var end: Timestamp
    var track: Int
    var value: Double
    /// The length of the sample, in nanoseconds.
    var whole: Int64
    /// The exposure of the sample's track at the start of the sample or span.
    var mark: Int64
  }

  /// The complete sums, in chronological order. The caller removes them.
  var finished: [Sum] = []
  private let calendar: CalendarBuckets
  private var clock = Timestamp(nanoseconds: .min)
  private var bucket: Bucket?
  /// The samples in progress, as a heap. The first sample is the one that ends first.
  private var parts: [Part] = []
  private var active = ActiveTracks()
  /// The time for which each track has counted, in nanoseconds.
  private var exposures: [Int64] = []
  /// The samples of length zero at the current instant.
  private var moments: [(track: Int, value: Double)] = []
  private var sum = 0.0
  private var hasData = false

  init(calendar: CalendarBuckets) {
    self.calendar = calendar
  }

  /// Adds the next sample. Samples must arrive in chronological order. The part before `from` is
  /// ignored.
  mutating func take(
    _ value: Double, _ sample: HealthSample, from: Timestamp, track: Int, _ ranks: [SourceRank]
  ) {
    while exposures.count <= track { exposures.append(0) }
    let start = max(sample.start, from, clock)
    advance(to: start, ranks)
    guard sample.end > sample.start else {
      if sample.start == clock { moments.append((track, value)) }
      return
    }
    guard sample.end > start else { return }
    let (whole, overflow) = sample.end.nanoseconds.subtractingReportingOverflow(
      sample.start.nanoseconds)
    push(
      Part(
        end: sample.end, track: track, value: value, whole: overflow ? .max : whole,
        mark: exposures[track]))
    active.begin(track, ranks)
  }

  /// Ends the series at `end`. Later parts of samples do not count.
  mutating func finish(at end: Timestamp, _ ranks: [SourceRank]) {
    if end > clock { advance(to: end, ranks) }
    resolveMoments(ranks)
    closeBucket()
  }

  private mutating func advance(to time: Timestamp, _ ranks: [SourceRank]) {
    while let first = parts.first, let bucket {
      let stop = min(first.end, bucket.members.upperBound)
      guard stop <= time else { break }
      pass(to: stop, ranks)
      if stop == bucket.members.upperBound { beginBucket(at: stop) }
      while let first = parts.first, first.end <= stop {
        accumulate(first)
        active.end(first.track, ranks)
        pop()
      }
    }
    pass(to: time, ranks)
    if bucket?.members.contains(time) != true { beginBucket(at: time) }
  }

  /// Ends the current span and begins the one that contains a time. No span follows that of
  /// `total`.
  private mutating func beginBucket(at time: Timestamp) {
    closeBucket()
    let next = calendar.bucket(at: time)
    bucket = next.members.upperBound > time ? next : nil
  }

  /// Advances over time in which no sample begins or ends.
  private mutating func pass(to time: Timestamp, _ ranks: [SourceRank]) {
    guard time > clock else { return }
    resolveMoments(ranks)
    // Only differences are used, and none is longer than a sample, so the sum may wrap around.
    if let track = active.first { exposures[track] &+= time.nanoseconds &- clock.nanoseconds }
    clock = time
  }

  private mutating func resolveMoments(_ ranks: [SourceRank]) {
    guard let best = moments.map({ ranks[$0.track] }).min() else { return }
    if active.first.map({ best <= ranks[$0] }) ?? true {
      for moment in moments where ranks[moment.track] == best { sum += moment.value }
      hasData = true
    }
    moments.removeAll(keepingCapacity: true)
  }

  private mutating func closeBucket() {
    for index in parts.indices {
      accumulate(parts[index])
      parts[index].mark = exposures[parts[index].track]
    }
    if let bucket, hasData { finished.append(Sum(bucket: bucket, value: sum)) }
    (sum, hasData) = (0, false)
  }

  /// Adds the part of a sample's value that has accumulated since its mark.
  private mutating func accumulate(_ part: Part) {
    let exposure = exposures[part.track] &- part.mark
    guard exposure > 0 else { return }
    sum +=
      exposure == part.whole ? part.value : part.value * (Double(exposure) / Double(part.whole))
    hasData = true
  }

  // MARK: The heap

  private mutating func push(_ part: Part) {
    parts.append(part)
    var index = parts.count - 1
    while index > 0, parts[index].end < parts[(index - 1) / 2].end {
      parts.swapAt(index, (index - 1) / 2)
      index = (index - 1) / 2
    }
  }

  private mutating func pop() {
    parts.swapAt(0, parts.count - 1)
    parts.removeLast()
    var index = 0
    while true {
      var least = index
      for child in [2 * index + 1, 2 * index + 2]
      where child < parts.count && parts[child].end < parts[least].end {
        least = child
      }
      guard least != index else { return }
      parts.swapAt(index, least)
      index = least
    }
  }
}
