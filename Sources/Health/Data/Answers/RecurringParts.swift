import HoldfastCore

// Points that cover a part of all days or weeks, such as all Mondays.
extension HealthAnswer {
  /// The interval of the query as one span.
  var whole: Bucket { Bucket(start: asked.start, end: asked.end, members: asked.members) }

  /// Returns the part to which a span belongs, or `nil` if the points cover no such parts.
  func part(of bucket: Bucket) -> CalendarPart? {
    query.groupBy.flatMap { CalendarPart(bucket, $0, in: zone) }
  }

  /// Returns the cells of each part of all days or weeks, combined. Returns the cells unchanged if
  /// the points cover no such parts.
  func recurring(_ cells: [Cell]) -> [Cell] {
    guard query.groupBy?.isRecurring == true else { return cells }
    let cells = query.groupBy == .hourOfDay ? ofWholeDays(cells) : cells
    var groups: [CellGroup: [Cell]] = [:]
    for cell in cells {
      let group = CellGroup(
        type: cell.type, source: cell.source, bucket: whole, part: part(of: cell.bucket),
        activity: cell.activity)
      groups[group, default: []].append(cell)
    }
    let days = query.groupBy == .hourOfDay ? knownDays(cells) : [:]
    return groups.map { group, cells in
      let ordered = cells.sorted {
        $0.bucket.members.lowerBound < $1.bucket.members.lowerBound
      }
      guard figures[group.type].needsDays else { return joined(ordered, group) }
      guard query.groupBy == .hourOfDay else { return fold(ordered, into: group) }
      var joined = joined(ordered, group)
      joined.sums /= days[group.ofAllDays] ?? .one
      joined.isOfPartialDays = ordered.contains(where: \.isOfPartialDays)
      return joined
    }
  }

  /// Returns the cells of hours without those of days that are not whole, where whole days have
  /// data and the figure needs them.
  private func ofWholeDays(_ cells: [Cell]) -> [Cell] {
    func isOfWholeDay(_ cell: Cell) -> Bool {
      !isPartial(days.bucket(at: cell.bucket.members.lowerBound), of: cell.type)
    }
    var groups: Set<CellGroup> = []
    for cell in cells where isOfWholeDay(cell) { groups.insert(group(of: cell)) }
    return cells.compactMap { cell in
      guard figures[cell.type].needsWholeDays, !isOfWholeDay(cell) else { return cell }
      guard !groups.contains(group(of: cell)) else { return nil }
      var found = cell
      found.isOfPartialDays = true
      return found
    }
  }

  /// Returns the group of all parts to which a cell belongs.
  private func group(of cell: Cell) -> CellGroup {
    CellGroup(type: cell.type, source: cell.source, bucket: whole, activity: cell.activity)
  }

  /// Returns the number of days on which each part of all days or weeks lies, by its index. A day
  /// counts as far as it belongs to the query and is past. Returns nothing if the points cover no
  /// such parts.
  func daysOfParts() -> [Int: Double] {
    var found: [Int: Double] = [:]
    guard query.groupBy?.isRecurring == true else { return found }
    let start = knownStart
    var bucket = buckets.bucket(at: start)
    let end = min(asked.to, now)
    while bucket.members.lowerBound < end {
      let length = bucket.members.lowerBound.distance(to: bucket.members.upperBound)
      let known = max(bucket.members.lowerBound, start)
        .distance(to: min(bucket.members.upperBound, end))
      if let part = part(of: bucket) { found[part.index, default: 0] += known / length }
      let next = buckets.bucket(at: bucket.members.upperBound)
      guard next.members.lowerBound > bucket.members.lowerBound else { break }
      bucket = next
    }
    return found
  }

  /// Returns whether more than a second of a span is outside the query or in the future. A part of
  /// all days is incomplete if one of its days has begun and is incomplete.
  func isPartial(_ bucket: Bucket, _ part: CalendarPart?, of type: Int) -> Bool {
    guard let part else { return isPartial(bucket, of: type) }
    guard knownStart(of: type) == asked.from else { return true }
    let end = min(asked.to, now)
    guard asked.from < end else { return false }
    return [asked.from, end.advanced(by: .nanoseconds(-1))].contains { edge in
      let day = buckets.bucket(at: edge)
      return self.part(of: day) == part && isPartial(day, of: type)
    }
  }

  /// Returns the number of days on which each of the four numbers of a type and source has data.
  /// It is at least 1.
  private func knownDays(_ cells: [Cell]) -> [CellGroup: SIMD4<Double>] {
    var days: [CellGroup: [Set<Timestamp>]] = [:]
    for cell in cells {
      let group = group(of: cell)
      let day = self.days.bucket(at: cell.bucket.members.lowerBound).members.lowerBound
      for index in 0..<4 where cell.counts[index] > 0 {
        days[group, default: [[], [], [], []]][index].insert(day)
      }
    }
    return days.mapValues { sets in
      var counts = SIMD4<Double>.one
      for index in 0..<4 { counts[index] = Double(max(1, sets[index].count)) }
      return counts
    }
  }

  /// Combines cells in the way in which their samples would be combined in one span.
  private func joined(_ cells: [Cell], _ group: CellGroup) -> Cell {
    let figure = figures[group.type]
    var whole = group.cell
    for cell in cells {
      switch figure {
      case .latest:
        if cell.latest?.lowerBound ?? cell.bucket.start
          >= whole.latest?.lowerBound ?? cell.bucket.start
        {
          whole = cell
        }
      case .shortest, .longest:
        if figure.prefers(cell, to: whole) { whole = cell }
      case .min, .max:
        for index in 0..<4 where cell.counts[index] > 0 {
          let (old, new) = (whole.sums[index], cell.sums[index])
          let best = figure == .min ? Swift.min(old, new) : Swift.max(old, new)
          whole.sums[index] = whole.counts[index] == 0 ? new : best
        }
        whole.counts += cell.counts
      case .sum, .average, .averageOverTime, .count, .averagePerDay, .minPerDay, .maxPerDay,
        .averagePerNight, .minPerNight, .maxPerNight:
        whole.sums += cell.sums
        whole.counts += cell.counts
        var held = cell.held
        held.end(at: min(cell.bucket.members.upperBound, window.to))
        whole.held.add(held)
      }
    }
    (whole.bucket, whole.part) = (group.bucket, group.part)
    return whole
  }
}

extension CellGroup {
  /// The group of all parts.
  fileprivate var ofAllDays: CellGroup {
    CellGroup(type: type, source: source, bucket: bucket, activity: activity)
  }
}
