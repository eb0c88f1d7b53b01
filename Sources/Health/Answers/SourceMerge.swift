import LinkCore

/// The merged series of the samples of all sources, in which overlapping sources count once.
///
/// It is a sweep over time. Of the samples in progress at a moment, only those of the source with
/// the lowest rank count. Each sample counts with the part of its value that corresponds to such
/// moments. A sample without a length counts unless a source with a lower rank measures at its
/// moment. Each sample enters and leaves a heap once, so `n` samples take O(n log n) steps, and one
/// more for each span of the calendar that a sample overlaps.
struct SourceMerge: Sendable {
  /// The merged value of one span of the calendar.
  struct Sum: Sendable, Hashable {
    var bucket: Bucket
    var value: Double
  }

  /// A sample in progress.
  private struct Part: Sendable {
    var end: Timestamp
    var lane: Int
    var value: Double
    /// The length of the sample, in nanoseconds.
    var whole: Int64
    /// The exposure of the sample's lane when the sample or the span began.
    var mark: Int64
  }

  /// The complete sums, in order of time. The caller removes them.
  var finished: [Sum] = []
  private let calendar: CalendarBuckets
  private var clock = Timestamp(nanoseconds: .min)
  private var bucket: Bucket?
  /// The samples in progress, as a heap. The sample that ends first is the first.
  private var parts: [Part] = []
  private var active = ActiveLanes()
  /// The time for which each lane has counted, in nanoseconds.
  private var exposures: [Int64] = []
  /// The samples without a length at the current moment.
  private var moments: [(lane: Int, value: Double)] = []
  private var sum = 0.0
  private var hasData = false

  init(calendar: CalendarBuckets) {
    self.calendar = calendar
  }

  /// Takes the next sample in order of time. The part before `from` is left out.
  mutating func take(
    _ value: Double, _ sample: HealthSample, from: Timestamp, lane: Int, _ ranks: [SourceRank]
  ) {
    while exposures.count <= lane { exposures.append(0) }
    let start = max(sample.start, from, clock)
    advance(to: start, ranks)
    guard sample.end > sample.start else {
      if sample.start == clock { moments.append((lane, value)) }
      return
    }
    guard sample.end > start else { return }
    let (whole, overflow) = sample.end.nanoseconds.subtractingReportingOverflow(
      sample.start.nanoseconds)
    push(
      Part(
        end: sample.end, lane: lane, value: value, whole: overflow ? .max : whole,
        mark: exposures[lane]))
    active.begin(lane, ranks)
  }

  /// Ends the series. Nothing from `end` on counts.
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
        settle(first)
        active.end(first.lane, ranks)
        pop()
      }
    }
    pass(to: time, ranks)
    if bucket?.members.contains(time) != true { beginBucket(at: time) }
  }

  /// Ends the current span and begins that of a moment. No span follows that of `total`.
  private mutating func beginBucket(at time: Timestamp) {
    closeBucket()
    let next = calendar.bucket(at: time)
    bucket = next.members.upperBound > time ? next : nil
  }

  /// Advances over time in which no sample begins or ends.
  private mutating func pass(to time: Timestamp, _ ranks: [SourceRank]) {
    guard time > clock else { return }
    resolveMoments(ranks)
    // Only differences count, and none is longer than a sample, so the sum may wrap around.
    if let lane = active.first { exposures[lane] &+= time.nanoseconds &- clock.nanoseconds }
    clock = time
  }

  private mutating func resolveMoments(_ ranks: [SourceRank]) {
    guard let best = moments.map({ ranks[$0.lane] }).min() else { return }
    if active.first.map({ best <= ranks[$0] }) ?? true {
      for moment in moments where ranks[moment.lane] == best { sum += moment.value }
      hasData = true
    }
    moments.removeAll(keepingCapacity: true)
  }

  private mutating func closeBucket() {
    for place in parts.indices {
      settle(parts[place])
      parts[place].mark = exposures[parts[place].lane]
    }
    if let bucket, hasData { finished.append(Sum(bucket: bucket, value: sum)) }
    (sum, hasData) = (0, false)
  }

  /// Adds the value that a sample has accumulated since its mark.
  private mutating func settle(_ part: Part) {
    let won = exposures[part.lane] &- part.mark
    guard won > 0 else { return }
    sum += won == part.whole ? part.value : part.value * (Double(won) / Double(part.whole))
    hasData = true
  }

  // MARK: The heap

  private mutating func push(_ part: Part) {
    parts.append(part)
    var place = parts.count - 1
    while place > 0, parts[place].end < parts[(place - 1) / 2].end {
      parts.swapAt(place, (place - 1) / 2)
      place = (place - 1) / 2
    }
  }

  private mutating func pop() {
    parts.swapAt(0, parts.count - 1)
    parts.removeLast()
    var place = 0
    while true {
      var least = place
      for child in [2 * place + 1, 2 * place + 2]
      where child < parts.count && parts[child].end < parts[least].end {
        least = child
      }
      guard least != place else { return }
      parts.swapAt(place, least)
      place = least
    }
  }
}
