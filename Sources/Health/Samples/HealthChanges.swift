public import HoldfastCore

/// A position in the history of a source's samples. All changes before the position have been read.
///
/// Only the source that created an anchor can interpret it. Two anchors of a source are equal if
/// nothing changed between them.
public struct HealthAnchor: Sendable, Hashable, Codable {
  /// The bytes that the source wrote.
  public let bytes: [UInt8]

  /// Creates an anchor from its bytes.
  public init(_ bytes: [UInt8]) { self.bytes = bytes }

  /// The bytes in hexadecimal digits.
  public var text: String { Hex.text(of: bytes) }
}

/// A query for the additions and deletions of one type.
public struct HealthChangeQuery: Sendable, Hashable {
  /// HealthKit's identifier.
  public var type: String
  /// The anchor of the previous page. If it is `nil`, the page begins with the samples from `from`
  /// on.
  public var after: HealthAnchor?
  /// The start of the first page if there is no anchor of this store. Samples that start earlier
  /// are excluded.
  public var from: Timestamp
  /// The maximum number of samples and deletions on a page in total. Values below 1 are treated as
  /// 1.
  public var limit: Int

  /// Creates a query.
  public init(type: String, after: HealthAnchor? = nil, from: Timestamp, limit: Int) {
    (self.type, self.after, self.from, self.limit) = (type, after, from, limit)
  }
}

/// A page of the additions and deletions of one type since an anchor.
public struct HealthChangePage: Sendable, Hashable {
  /// The added samples with their keys, sorted by start.
  public var added: [KeyedHealthSample]
  /// The keys of the deleted samples.
  public var deleted: [HealthSampleKey]
  /// The anchor of the next page. It equals the query's anchor if nothing changed.
  public var anchor: HealthAnchor

  /// Creates a page.
  public init(
    added: [KeyedHealthSample] = [], deleted: [HealthSampleKey] = [], anchor: HealthAnchor
  ) {
    (self.added, self.deleted, self.anchor) = (added, deleted, anchor)
  }
}

/// A sample with its key.
public struct KeyedHealthSample: Sendable, Hashable {
  /// The key of the sample.
  public var key: HealthSampleKey
  /// The sample.
  public var sample: HealthSample

  /// Creates a sample with its key.
  public init(key: HealthSampleKey, sample: HealthSample) {
    (self.key, self.sample) = (key, sample)
  }
}

/// The progress of a reader through the changes of one type. Anchors contain it in encoded form.
///
/// A store numbers its changes. A pass reads the changes above `done` up to `until`, the newest
/// change when the pass began. It reads the deletions by key, and then the samples by start and
/// key. Changes during the pass have higher numbers and are left to the next pass. The first pass
/// reads the deletions last, because a reader that starts over may not have read all of them.
///
/// If a store is restored to an earlier state and changes afterwards, numbers alone do not
/// distinguish its two histories. Each change therefore has a random mark, and a pass stores the
/// mark of its newest change.
package struct HealthChangeCursor: Sendable, Hashable {
  /// The store that assigned the numbers.
  package let store: UInt64
  /// The number up to which all changes have been read, or -1 before the end of the first pass.
  package private(set) var done: Int64
  /// The mark of the newest known change, or 0 if the store has no marks.
  package private(set) var mark: UInt64 = 0
  /// The stage of the current pass.
  private var stage: Stage

  private enum Stage: Hashable {
    case none
    case deleted(until: Int64, after: HealthSampleKey?)
    case added(until: Int64, after: HealthPosition)
  }

  /// Creates the progress of a reader that has not read anything.
  package init(_ store: UInt64) { (self.store, done, stage) = (store, -1, .none) }

  /// Creates the progress from an anchor. Returns `nil` if a different store created the anchor.
  package init?(_ anchor: HealthAnchor, of store: UInt64) {
    var reader = WordReader(anchor.bytes)
    guard let version = reader.byte(), version == Self.plain || version == Self.marked,
      let owner = reader.word(), owner == store, let done = reader.word()
    else { return nil }
    if version == Self.marked {
      guard let mark = reader.word(), mark != 0 else { return nil }
      self.mark = mark
    }
    guard let kind = reader.byte() else { return nil }
    (self.store, self.done) = (store, Int64(bitPattern: done))
    switch kind {
    case 0: stage = .none
    case 1, 2:
      guard let until = reader.word() else { return nil }
      let key = reader.key()
      guard kind == 1 || key != nil else { return nil }
      stage = .deleted(until: Int64(bitPattern: until), after: key)
    case 3:
      guard let until = reader.word(), let start = reader.word(), let key = reader.key() else {
        return nil
      }
      let position = HealthPosition(
        start: Timestamp(nanoseconds: Int64(bitPattern: start)), key: key)
      stage = .added(until: Int64(bitPattern: until), after: position)
    case _: return nil
    }
    guard reader.isAtEnd else { return nil }
  }

  /// The version of an anchor without a mark.
  private static let plain: UInt8 = 1
  /// The version of an anchor with a mark.
  private static let marked: UInt8 = 2

  /// The number of the newest known change.
  package var reach: Int64 {
    switch stage {
    case .none: done
    case .deleted(let until, _), .added(let until, _): until
    }
  }

  /// The progress, encoded as an anchor.
  package var anchor: HealthAnchor {
    var bytes = [mark == 0 ? Self.plain : Self.marked] + Self.bytes(of: store)
    bytes += Self.bytes(of: UInt64(bitPattern: done))
    if mark != 0 { bytes += Self.bytes(of: mark) }
    switch stage {
    case .none: bytes.append(0)
    case .deleted(let until, let key):
      bytes.append(key == nil ? 1 : 2)
      bytes += Self.bytes(of: UInt64(bitPattern: until))
      if let key { bytes += Self.bytes(of: key.high) + Self.bytes(of: key.low) }
    case .added(let until, let position):
      bytes.append(3)
      bytes += Self.bytes(of: UInt64(bitPattern: until))
      bytes += Self.bytes(of: UInt64(bitPattern: position.start.nanoseconds))
      bytes += Self.bytes(of: position.key.high) + Self.bytes(of: position.key.low)
    }
    return HealthAnchor(bytes)
  }

  private static func bytes(of word: UInt64) -> [UInt8] {
    (0..<8).map { UInt8(truncatingIfNeeded: word >> UInt64(56 - 8 * $0)) }
  }
}

/// The start and the key of a sample. They define the order of the samples of a type.
package struct HealthPosition: Sendable, Hashable {
  package var start: Timestamp
  package var key: HealthSampleKey

  package init(start: Timestamp, key: HealthSampleKey) { (self.start, self.key) = (start, key) }

  /// Returns the position before all samples that start at `start` or later.
  package static func before(_ start: Timestamp) -> HealthPosition {
    let (earlier, overflow) = start.nanoseconds.subtractingReportingOverflow(1)
    return HealthPosition(
      start: Timestamp(nanoseconds: overflow ? .min : earlier),
      key: HealthSampleKey(high: .max, low: .max))
  }
}

/// A range of the changes of one type in a store.
package struct HealthChangeSpan: Sendable, Hashable {
  package var type: String
  /// The number up to which changes are excluded.
  package var done: Int64
  /// The number of the last change that is included.
  package var until: Int64
}

extension HealthChangeCursor {
  /// Returns one page of a query.
  ///
  /// - Parameters:
  ///   - newest: The number of the newest change of the store.
  ///   - mark: The mark of that change, or 0 in a store without marks.
  ///   - hasChanges: A closure that returns whether a span contains any change.
  ///   - deletions: A closure that returns up to a number of keys after a key, in order.
  ///   - additions: A closure that returns up to a number of samples after a position, in order.
  package static func page<Failure: Error>(
    _ query: HealthChangeQuery, of store: UInt64, newest: Int64, mark: UInt64 = 0,
    hasChanges: (HealthChangeSpan) throws(Failure) -> Bool,
    deletions: (HealthChangeSpan, HealthSampleKey?, Int) throws(Failure) -> [HealthSampleKey],
    additions: (HealthChangeSpan, HealthPosition, Int) throws(Failure) -> [KeyedHealthSample]
  ) throws(Failure) -> HealthChangePage {
    var cursor = begin(query, of: store, newest: newest)
    if case .none = cursor.stage {
      let span = HealthChangeSpan(type: query.type, done: cursor.done, until: newest)
      if cursor.done >= 0, try !hasChanges(span) { return HealthChangePage(anchor: cursor.anchor) }
      cursor.mark = mark
      cursor.stage =
        cursor.done < 0
        ? .added(until: newest, after: .before(query.from)) : .deleted(until: newest, after: nil)
    }
    let limit = max(1, query.limit)
    var page = HealthChangePage(anchor: cursor.anchor)
    if case .deleted(let until, let key) = cursor.stage {
      let span = HealthChangeSpan(type: query.type, done: cursor.done, until: until)
      page.deleted = try deletions(span, key, limit)
      cursor.deleted(page.deleted, limit: limit, until: until)
    }
    if case .added(let until, let position) = cursor.stage {
      let span = HealthChangeSpan(type: query.type, done: cursor.done, until: until)
      let room = limit - page.deleted.count
      // An additional sample shows whether another page follows.
      let found = try additions(span, position, room + 1)
      page.added = Array(found.prefix(room))
      if found.count > room, let last = page.added.last {
        let position = HealthPosition(start: last.sample.start, key: last.key)
        cursor.stage = .added(until: until, after: position)
      } else {
        let rest = room - found.count
        if cursor.done < 0 { page.deleted = try deletions(span, nil, rest) }
        cursor.added(page.deleted, limit: rest, until: until)
      }
    }
    page.anchor = cursor.anchor
    return page
  }

  /// Continues from an anchor, or starts over.
  ///
  /// A pass also starts over if the store was restored to an earlier state and assigns the same
  /// numbers again (see `HealthChangeQuery.checked`).
  private static func begin(
    _ query: HealthChangeQuery, of store: UInt64, newest: Int64
  ) -> HealthChangeCursor {
    guard let cursor = query.after.flatMap({ HealthChangeCursor($0, of: store) }),
      cursor.reach <= newest
    else { return HealthChangeCursor(store) }
    return cursor
  }
}

extension HealthChangeQuery {
  /// Returns the query. The anchor is removed if it belongs to a different history of the store, in
  /// which the anchor's newest change has a different mark.
  ///
  /// - Parameter mark: A closure that returns the mark of a change of this store, or 0 if there is
  ///   no such change.
  package func checked<Failure: Error>(
    of store: UInt64, mark: (Int64) throws(Failure) -> UInt64
  ) throws(Failure) -> HealthChangeQuery {
    guard let cursor = after.flatMap({ HealthChangeCursor($0, of: store) }),
      try mark(cursor.reach) != cursor.mark
    else { return self }
    var query = self
    query.after = nil
    return query
  }
}

extension HealthChangeCursor {
  /// Continues after a page of at most `limit` deletions. More deletions follow if the page is
  /// full. Otherwise the additions follow, unless this is the first pass, which then ends.
  fileprivate mutating func deleted(_ found: [HealthSampleKey], limit: Int, until: Int64) {
    if found.count == limit {
      stage = .deleted(until: until, after: found.last)
    } else if done < 0 {
      (done, stage) = (until, .none)
    } else {
      stage = .added(until: until, after: .before(Timestamp(nanoseconds: .min)))
    }
  }

  /// Continues after the last addition. In the first pass, the deletions follow.
  fileprivate mutating func added(_ found: [HealthSampleKey], limit: Int, until: Int64) {
    if done >= 0 || found.count < limit {
      (done, stage) = (until, .none)
    } else {
      stage = .deleted(until: until, after: found.last)
    }
  }
}

/// A reader of words in big-endian order.
private struct WordReader {
  private var rest: ArraySlice<UInt8>

  init(_ bytes: [UInt8]) { rest = bytes[...] }

  var isAtEnd: Bool { rest.isEmpty }

  mutating func byte() -> UInt8? { rest.popFirst() }

  mutating func word() -> UInt64? {
    guard rest.count >= 8 else { return nil }
    defer { rest = rest.dropFirst(8) }
    return rest.prefix(8).reduce(0) { $0 << 8 | UInt64($1) }
  }

  mutating func key() -> HealthSampleKey? {
    guard let high = word(), let low = word() else { return nil }
    return HealthSampleKey(high: high, low: low)
  }
}
