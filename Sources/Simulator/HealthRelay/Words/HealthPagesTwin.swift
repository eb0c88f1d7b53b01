import LinkCore
import LinkHealth

/// A store of numbered changes in plain lists, and the pages that a reader gets of it.
struct HealthPagesTwin {
  struct Entry {
    var type: String
    var sample: KeyedHealthSample
    /// The number of the change that added it.
    var added: Int64
    /// The number of the change that deleted it, if one did.
    var deleted: Int64?
  }

  /// What a reader took, and where it stands.
  struct Place: Equatable {
    var done: Int64 = -1
    /// The newest change of the walk under way.
    var until: Int64?
    /// The last deletion or addition that was told.
    var key: HealthSampleKey?
    var start: Int64?
    var isAtAdditions = false
  }

  /// The changes of one type after one and up to another.
  struct Span {
    var type: String
    var done: Int64
    var until: Int64
  }

  var store: UInt64
  var newest: Int64 = 0
  var entries: [Entry] = []

  // What a store finds.

  func hasChanges(_ span: Span) -> Bool {
    entries.contains { entry in
      entry.type == span.type
        && (Self.holds(span, entry.added) || Self.holds(span, entry.deleted))
    }
  }

  func deletions(_ span: Span, _ last: HealthSampleKey?) -> [HealthSampleKey] {
    let keys = entries.filter { $0.type == span.type && Self.holds(span, $0.deleted) }
      .map(\.sample.key).sorted { ($0.high, $0.low) < ($1.high, $1.low) }
    guard let last else { return keys }
    return keys.filter { ($0.high, $0.low) > (last.high, last.low) }
  }

  func additions(
    _ span: Span, after start: Int64, _ key: HealthSampleKey
  ) -> [KeyedHealthSample] {
    let found = entries.filter { entry in
      entry.type == span.type && entry.deleted == nil && Self.holds(span, entry.added)
    }
    let sorted = found.map(\.sample).sorted { Self.order($0) < Self.order($1) }
    return sorted.filter { Self.order($0) > (start, key.high, key.low) }
  }

  private static func order(_ one: KeyedHealthSample) -> (Int64, UInt64, UInt64) {
    (one.sample.start.nanoseconds, one.key.high, one.key.low)
  }

  private static func holds(_ span: Span, _ change: Int64?) -> Bool {
    guard let change else { return false }
    return change > span.done && change <= span.until
  }

  // Anchors.

  private static func bytes(_ word: UInt64) -> [UInt8] {
    var (bytes, rest): ([UInt8], UInt64) = ([], word)
    for _ in 0..<8 {
      bytes.insert(UInt8(rest % 256), at: 0)
      rest /= 256
    }
    return bytes
  }

  /// Returns the anchor of a place: a version, the store, what is done, the stage and its words.
  func anchor(_ place: Place) -> [UInt8] {
    let stage: UInt8 =
      place.until == nil ? 0 : place.isAtAdditions ? 3 : place.key == nil ? 1 : 2
    var words = [store, UInt64(bitPattern: place.done)].flatMap { Self.bytes($0) }
    words.append(stage)
    if let until = place.until { words += Self.bytes(UInt64(bitPattern: until)) }
    if let start = place.start { words += Self.bytes(UInt64(bitPattern: start)) }
    if let key = place.key { words += Self.bytes(key.high) + Self.bytes(key.low) }
    return [1] + words
  }

  // Pages.

  /// Returns the next page for a reader, and where it stands then.
  func page(_ query: HealthChangeQuery, _ begin: Place?) -> (HealthChangePage, Place) {
    var place = begin ?? Place()
    if (place.until ?? place.done) > newest { place = Place() }
    if place.until == nil {
      let span = Span(type: query.type, done: place.done, until: newest)
      if place.done >= 0, !hasChanges(span) { return (told(place, [], []), place) }
      place.until = newest
      if place.done < 0 { (place.isAtAdditions, place.key) = (true, Self.last) }
      if place.done < 0 { place.start = max(query.from.nanoseconds, .min + 1) - 1 }
    }
    let span = Span(type: query.type, done: place.done, until: place.until ?? 0)
    let isFirst = place.done < 0
    var gone = deletions(span, place.isAtAdditions ? nil : place.key)
    var there = additions(
      span, after: place.start ?? .min, place.start == nil ? Self.last : place.key ?? Self.last)
    if place.isAtAdditions, !isFirst { gone = [] }
    if !place.isAtAdditions, isFirst { there = [] }
    let room = max(1, query.limit)
    let counts =
      isFirst
      ? (min(room, there.count), min(gone.count, max(0, room - there.count)))
      : (min(there.count, max(0, room - gone.count)), min(room, gone.count))
    let (told, deleted) = (Array(there.prefix(counts.0)), Array(gone.prefix(counts.1)))
    let next = next(place, told, deleted, room, isLast: told.count == there.count)
    return (self.told(next, told, deleted), next)
  }

  private static let last = HealthSampleKey(high: .max, low: .max)

  private func told(
    _ place: Place, _ added: [KeyedHealthSample], _ deleted: [HealthSampleKey]
  ) -> HealthChangePage {
    HealthChangePage(added: added, deleted: deleted, anchor: HealthAnchor(anchor(place)))
  }

  /// Returns where a reader stands behind a page; one that is not full ends a walk.
  private func next(
    _ place: Place, _ added: [KeyedHealthSample], _ deleted: [HealthSampleKey], _ room: Int,
    isLast: Bool
  ) -> Place {
    let end = Place(done: place.until ?? 0)
    if added.count + deleted.count < room { return end }
    var next = Place(done: place.done, until: place.until)
    let endsWithDeletions = place.done < 0 ? !deleted.isEmpty : added.isEmpty
    if endsWithDeletions {
      next.key = deleted.last
    } else if let last = added.last, !isLast {
      (next.isAtAdditions, next.start) = (true, last.sample.start.nanoseconds)
      next.key = last.key
    } else if place.done >= 0 {
      return end
    }
    return next
  }
}
