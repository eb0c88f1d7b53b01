import HoldfastCore
import HoldfastHealthSamples

/// The sessions of all sources, such as workouts. A session that several sources report counts
/// once.
///
///     take(session) ──▶ sessions that count … ──▶ finish() ──▶ the last sessions that count
///
/// Two sessions are the same if they have the same kind, come from different sources, and overlap
/// for at least half of the shorter one. Of the same sessions, that of the source with the lowest
/// rank counts. Sessions must arrive in chronological order.
struct SessionMerge: Sendable {
  /// A session, with what is needed to compare it.
  struct Session: Sendable {
    var sample: HealthSample
    var kind: String?
    var source: Int
    var rank: SourceRank
    /// The position among the sessions that were read.
    var order = 0
  }

  /// The maximum number of sessions that overlap one after the other. With more of them, those that
  /// have arrived are compared. The limit is Holdfast's own. A day has fewer sessions.
  static let most = 1_000

  /// The sessions of each kind that overlap each other, one after the other, and their last end.
  private var open: [String?: (sessions: [Session], end: Timestamp)] = [:]

  /// Adds a session. Returns the earlier sessions of its kind that count, if none of them can
  /// overlap with later sessions.
  mutating func take(_ session: Session) -> [Session] {
    let end = max(session.sample.start, session.sample.end)
    guard var group = open[session.kind], session.sample.start <= group.end,
      group.sessions.count < Self.most
    else {
      let earlier = open.updateValue(([session], end), forKey: session.kind)
      return Self.counting(earlier?.sessions ?? [])
    }
    open[session.kind] = nil
    group.sessions.append(session)
    group.end = max(group.end, end)
    open[session.kind] = group
    return []
  }

  /// Returns the remaining sessions that count, in chronological order.
  mutating func finish() -> [Session] {
    defer { open.removeAll() }
    return open.values.flatMap { Self.counting($0.sessions) }.sorted {
      ($0.sample.start, $0.sample.key, $0.kind ?? "")
        < ($1.sample.start, $1.sample.key, $1.kind ?? "")
    }
  }

  /// Returns the sessions that count, in chronological order.
  private static func counting(_ sessions: [Session]) -> [Session] {
    guard sessions.count > 1 else { return sessions }
    let byRank = sessions.indices.sorted {
      (sessions[$0].rank, $0) < (sessions[$1].rank, $1)
    }
    var kept: [Int] = []
    for index in byRank
    where !kept.contains(where: { isSame(sessions[$0], sessions[index]) }) {
      kept.append(index)
    }
    return kept.sorted().map { sessions[$0] }
  }

  private static func isSame(_ one: Session, _ other: Session) -> Bool {
    guard one.source != other.source else { return false }
    let (first, second) = (one.sample.span, other.sample.span)
    let start = max(first.lowerBound, second.lowerBound)
    let end = min(first.upperBound, second.upperBound)
    guard start <= end else { return false }
    let shorter = min(
      first.lowerBound.distance(to: first.upperBound),
      second.lowerBound.distance(to: second.upperBound))
    return start.distance(to: end) >= shorter / 2
  }
}

extension HealthSample {
  /// The interval of the sample. It is empty if the sample ends before it starts.
  var span: Range<Timestamp> { start..<max(start, end) }
}

extension HealthAnswer {
  /// Adds a workout or another session to the spans to which it belongs, or to the list.
  mutating func countSession(_ sample: HealthSample, _ kind: HealthKind) {
    guard let activity = kind.activity(of: sample) else {
      if query.groupBy != nil || asked.members.contains(sample.start) { skipped += 1 }
      return
    }
    if let activity, !isWanted(activity) { return }
    let source = sources.number(sample.source, device: sample.device)
    let track = tracks.track(of: sample, source: source)
    let session = SessionMerge.Session(
      sample: sample, kind: activity, source: source, rank: tracks.ranks[track],
      order: raw.arrived)
    raw.arrived += 1
    if query.options.bySource { add(session, kind, to: source) }
    for one in merging.take(session) { finish(one, kind) }
  }

  /// Adds the sessions that were still compared with each other after all samples were read.
  mutating func finishSessions() {
    guard kinds.indices.contains(reading.index), kinds[reading.index].isSession else { return }
    for one in merging.finish() { finish(one, kinds[reading.index]) }
  }

  /// Adds a session that counts.
  private mutating func finish(_ session: SessionMerge.Session, _ kind: HealthKind) {
    guard query.groupBy != nil else { return place(session, kind) }
    add(session, kind, to: Sources.merged)
  }

  private mutating func add(
    _ session: SessionMerge.Session, _ kind: HealthKind, to owner: Int
  ) {
    let (sample, figure) = (session.sample, figures[reading.index])
    guard refusal == nil, let anchor = anchor(of: sample, kind.rule) else { return }
    var numbers: [Double?] = [sample.minutes]
    if case .workout(let workout) = sample.value {
      numbers = (workout.numbers ?? []) + [sample.minutes(of: workout)]
    }
    add(owner, bucket(at: anchor), activity: session.kind) { cell in
      guard figure.replaces(cell, with: numbers) else { return }
      // All numbers come from one workout. Numbers that it lacks are missing.
      if figure.isOfOneSample { (cell.sums, cell.counts, cell.sessions) = (.zero, .zero, []) }
      for (index, number) in numbers.enumerated() {
        if let number { cell.take(number, at: index, for: figure) }
      }
      if session.kind != nil { cell.sessions.append(sample.span) }
      cell.note(sample)
    }
  }

  /// Returns whether workouts of a kind count, and remembers the kind.
  mutating func isWanted(_ activity: String) -> Bool {
    guard let only = query.options.workoutType else { return true }
    activities.insert(activity)
    return WorkoutKinds.named(only).contains(activity)
  }

  /// Adds a note if the question covers no time.
  mutating func noteEmptySpan() {
    guard asked.start == asked.end, !query.options.nearest else { return }
    notes.append(
      "end_time is not included, and is start_time here, so no time is asked for. For one day, "
        + "end_time is the next day.")
  }

  /// Adds a note with the recorded kinds of workouts if none is of the kind that was asked for.
  mutating func noteActivities() {
    guard let wanted = query.options.workoutType.map(WorkoutKinds.named),
      query.valueType == .workout, activities.isDisjoint(with: wanted)
    else { return }
    let only = wanted.joined(separator: " or ")
    let known = activities.sorted().prefix(20).joined(separator: ", ")
    let time = query.options.nearest ? "before end_time" : "in this time"
    notes.append(
      "No workout of kind \(only) \(time); "
        + (known.isEmpty ? "there are no workouts." : "recorded kinds are \(known)."))
  }
}

extension HealthKind {
  /// Returns the activity of a session: that of a workout, else `nil`. Returns nothing if the
  /// sample does not count.
  func activity(of sample: HealthSample) -> String?? {
    guard measure == .workout else { return .some(nil) }
    guard case .workout(let workout) = sample.value, workout.numbers != nil else { return .none }
    return .some(workout.answerType)
  }
}

extension HealthKind.Rule {
  /// Returns the time that determines to which span a sample belongs.
  func anchor(of sample: HealthSample) -> Timestamp {
    switch self {
    case .atStart, .spread: sample.start
    case .atEnd: max(sample.start, sample.end)
    case .atMiddle: sample.middle
    }
  }
}

extension Cell {
  /// Whether a distance was recorded. Apps write 0 for a distance that they did not measure.
  var hasDistance: Bool { sums[0] > 0 }
}

extension Figure {
  /// Returns whether a workout with these numbers takes part in a cell. The numbers are its
  /// distance, energy, steps and minutes.
  fileprivate func replaces(_ cell: Cell, with numbers: [Double?]) -> Bool {
    guard self == .longest || self == .shortest, cell.counts != .zero else { return true }
    var other = Cell(type: cell.type, source: cell.source, bucket: cell.bucket)
    for (index, number) in numbers.enumerated() {
      if let number { (other.sums[index], other.counts[index]) = (number, 1) }
    }
    return prefers(other, to: cell)
  }

  /// Returns whether the workout of a cell is longer, or shorter, than that of another one.
  ///
  /// The longest and the shortest workout are those by distance. Only if no workout has a distance,
  /// they are those by duration. Of equals the first counts.
  func prefers(_ cell: Cell, to other: Cell) -> Bool {
    guard other.counts != .zero else { return true }
    let hasDistance = other.hasDistance
    if hasDistance != cell.hasDistance { return !hasDistance }
    let index = hasDistance ? 0 : 3
    return self == .longest
      ? cell.sums[index] > other.sums[index] : cell.sums[index] < other.sums[index]
  }
}
