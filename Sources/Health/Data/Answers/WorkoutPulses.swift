import HoldfastCore
import HoldfastHealthSamples

/// The heart rates during the workouts of an answer, computed from the readings of all sources.
///
///     query ──▶ take(page) ──▶ query … ──▶ nil
struct WorkoutPulses: Sendable {
  /// The maximum number of workouts in one answer for which heart rates are read.
  ///
  /// The heart rates of each workout are read separately. The limit is Holdfast's own. It allows
  /// for one workout a day in almost three years.
  static let most = 1_000

  /// The time of a workout, and the points or cells to which it belongs.
  typealias Session = (span: Range<Timestamp>, owners: [Int])

  /// The heart rates, by point or cell.
  private(set) var found: [Int: HeldAverage] = [:]
  /// The sessions that remain to be read. The last one is read next.
  private var left: [Session]
  private var after: HealthSamplePosition?
  private var held = HeldAverage()
  private let pageLimit: Int

  init(_ sessions: [Session], pageLimit: Int) {
    left = sessions.filter { !$0.span.isEmpty }.reversed()
    self.pageLimit = max(1, pageLimit)
  }

  /// The next query of samples, or `nil` when all samples were read.
  var query: HealthSampleQuery? {
    left.last.map {
      HealthSampleQuery(
        types: [HealthType.quantityPrefix + "HeartRate"], from: $0.span.lowerBound,
        to: $0.span.upperBound, after: after, limit: pageLimit)
    }
  }

  /// Adds the page that `query` requested.
  mutating func take(_ page: HealthSamplePage) {
    guard let session = left.last else { return }
    for sample in page.samples where session.span.contains(sample.start) {
      guard case .quantity(let value) = sample.value,
        let number = Dimension.beats.scale(from: sample.unit)?(value), number.isFinite
      else { continue }
      held.take(number, at: sample.start)
    }
    after = page.next
    guard after == nil else { return }
    held.end(at: session.span.upperBound)
    for owner in session.owners where held.average != nil {
      found[owner, default: HeldAverage()].add(held)
    }
    held = HeldAverage()
    left.removeLast()
  }
}

extension HealthAnswer {
  /// Starts to read the heart rates, after all workouts have been read.
  mutating func beginPulses() {
    var sessions: [WorkoutPulses.Session] = raw.sessions.enumerated().map { ($1, [$0]) }
    var known: [Range<Timestamp>: Int] = [:]
    for (owner, cell) in cells.all.enumerated() {
      for span in cell.sessions {
        // Cells of all sources and of a single one have the same workouts.
        guard let index = known[span] else {
          known[span] = sessions.count
          sessions.append((span, [owner]))
          continue
        }
        sessions[index].owners.append(owner)
      }
    }
    guard sessions.count <= WorkoutPulses.most else {
      return notes.append(
        "Left out: average_heart_rate, of more than \(WorkoutPulses.most) workouts. Ask for a "
          + "shorter time.")
    }
    pulses = WorkoutPulses(sessions, pageLimit: limits.pageLimit)
  }

  /// Adds a page of heart rates. After the last page, each cell receives its average.
  mutating func takePulses(_ page: HealthSamplePage) {
    pulses?.take(page)
    guard let pulses, pulses.query == nil, query.groupBy != nil else { return }
    for (index, held) in pulses.found { cells.update(at: index) { $0.held = held } }
  }
}
