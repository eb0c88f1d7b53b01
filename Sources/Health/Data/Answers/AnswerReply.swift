import HoldfastCore

extension HealthDataQuery {
  /// Whether all spans are needed, even if they do not fit into the answer.
  var needsWhole: Bool {
    options.trend || options.compareWith != nil || groupBy?.isRecurring == true
  }

  /// Whether an answer that is too long can be cut at an instant.
  fileprivate var canBeCut: Bool {
    options.compareWith == nil && groupBy?.isRecurring != true && !options.nearest
  }
}

// The reply that consists of points.
extension HealthAnswer {
  /// Returns the reply with these points. Points that do not fit are left out.
  ///
  /// The answer is truncated at the same instant for all types and sources, so that the next query
  /// repeats no point.
  func reply(
    _ points: [TimedPoint], to asked: HealthDataQuery, trends: [HealthTrend] = [],
    notes more: [String] = []
  ) throws(AnswerRefusal) -> HealthReply {
    let whole = asked.options.format == .table ? table(points) : nil
    let lengths = lengths(points, in: whole, trends: trends)
    var nextStart = nextStart
    var bytes = 0
    let ordered = points.indices.sorted { (points[$0].start, $0) < (points[$1].start, $1) }
    for index in ordered {
      bytes += lengths.points[index]
      guard bytes > lengths.room else { continue }
      guard asked.canBeCut else { throw .tooLong }
      nextStart = min(points[index].start, nextStart ?? points[index].start)
      break
    }
    let included = points.filter { point in nextStart.map { point.start < $0 } ?? true }
    // The next query would find the same samples at that instant.
    if included.isEmpty, nextStart != nil { throw .tooMuchAtOnce }
    var answered = asked
    (answered.statistic, answered.maxBytes) = (statistic, nil)
    var reply = HealthReply(
      query: answered, points: included.map(\.point), nextStart: nextStart.map(written),
      skipped: skipped, notes: notes + more + absence(points) + storeNotes(of: asked, points),
      freshness: freshness)
    reply.trends = trends
    if nextStart != nil, !trends.isEmpty {
      reply.notes.append(
        "trend covers the whole span, also what did not fit. Continue without trend.")
    }
    if let whole { reply.table = included.count == points.count ? whole : table(included) }
    return reply
  }

  /// Returns the length of each point, or of its row in a table, and the room for all of them.
  private func lengths(
    _ points: [TimedPoint], in table: HealthTable?, trends: [HealthTrend]
  ) -> (points: [Int], room: Int) {
    let left = room - trends.length
    guard let table else { return (points.map(\.length), left) }
    return (table.rows.map { $0.count + 1 }, left - table.headLength)
  }

  /// Returns the points as rows. Minutes of sleep are whole there, since a night of a year has many
  /// numbers, and no device measures them more precisely.
  private func table(_ points: [TimedPoint]) -> HealthTable {
    HealthTable(
      points.map { timed in
        timed.point.wholeMinutesOfSleep.members(
          day: timed.day, hasStart: timed.hasOwnTimes || query.groupBy == .hour,
          hasEnd: timed.hasOwnTimes)
      })
  }
}

extension HealthPoint {
  /// The point, with whole minutes if it is about sleep.
  fileprivate var wholeMinutesOfSleep: HealthPoint {
    guard let sleep else { return self }
    var point = self
    if case .number(let minutes) = value { point.value = .number(minutes.rounded()) }
    point.sleep = sleep.map { $0.rounded() }
    point.comparison = comparison.map { $0.wholeMinutesOfSleep }
    return point
  }
}

extension HealthComparison {
  /// The comparison, with whole minutes of the stages of sleep.
  fileprivate var wholeMinutesOfSleep: HealthComparison {
    var found = self
    found.previousSleep = previousSleep?.map { $0.rounded() }
    found.sleepChange = sleepChange.map {
      HealthNumber(name: $0.name, value: $0.value.rounded())
    }
    return found
  }
}
