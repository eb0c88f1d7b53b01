import LinkCore
import LinkHealth

// Changes of a store, told page by page.
extension HealthSamplesWalk {
  mutating func tryPages() {
    var twin = HealthPagesTwin(store: one([0, 7, .max]))
    var readers: [[UInt8]: HealthPagesTwin.Place] = [:]
    var anchor: [UInt8]?
    for _ in 0..<one([0, 0, 1, 3, 6]) { change(&twin) }
    for _ in 0..<12 where stray == nil {
      for _ in 0..<one([0, 0, 1, 3, 6]) { change(&twin) }
      if happens(12) { putBack(&twin) }
      var query = HealthChangeQuery(
        type: happens(9) ? "b" : "a", after: anchor.map { HealthAnchor($0) },
        from: Self.moment(one([.min, 0, 0, 1, 2])), limit: one([-1, 0, 1, 2, 2, 3, 4, 5, 9]))
      if happens(15) { query.after = odd(anchor) }
      let place = query.after.flatMap { readers[$0.bytes] }
      let found = Self.page(query, twin)
      let next = comparePage(found, query, place, of: twin)
      guard stray == nil else { return }
      anchor = found.anchor.bytes
      readers[found.anchor.bytes] = next
      tryAnchor(found.anchor, twin, next)
      if happens(10) {
        anchor = one(Array(readers.keys.sorted { $0.lexicographicallyPrecedes($1) }))
      }
    }
  }

  /// Compares a page of changes; returns where its reader stands then.
  mutating func comparePage(
    _ found: HealthChangePage, _ query: HealthChangeQuery, _ place: HealthPagesTwin.Place?,
    of twin: HealthPagesTwin
  ) -> HealthPagesTwin.Place {
    let (must, next) = twin.page(query, place)
    compare("the page for \(query) of \(twin.entries)", found, must)
    return next
  }

  static func page(_ query: HealthChangeQuery, _ twin: HealthPagesTwin) -> HealthChangePage {
    func own(_ span: HealthChangeSpan) -> HealthPagesTwin.Span {
      HealthPagesTwin.Span(type: span.type, done: span.done, until: span.until)
    }
    return HealthWalk.page(query, of: twin.store, newest: twin.newest) { span in
      twin.hasChanges(own(span))
    } deletions: { span, key, limit in
      Array(twin.deletions(own(span), key).prefix(limit))
    } additions: { span, place, limit in
      let (start, key) = (place.start.nanoseconds, place.key)
      return Array(twin.additions(own(span), after: start, key).prefix(limit))
    }
  }

  /// Adds a sample, or deletes one.
  private mutating func change(_ twin: inout HealthPagesTwin) {
    twin.newest += 1
    let there = twin.entries.indices.filter { twin.entries[$0].deleted == nil }
    if !there.isEmpty, happens(3) {
      twin.entries[one(there)].deleted = twin.newest
      return
    }
    let start = Self.moment(one([.min, 0, 0, 1, 1, 2, 3, .max]))
    let key = HealthSampleKey(high: UInt64(number(0...1)), low: UInt64(twin.newest))
    let sample = HealthSample(
      type: "a", value: .quantity(1), start: start, end: start, source: "s")
    twin.entries.append(
      HealthPagesTwin.Entry(
        type: happens(4) ? "b" : "a", sample: KeyedHealthSample(key: key, sample: sample),
        added: twin.newest, deleted: nil))
  }

  /// Takes back the newest changes.
  private mutating func putBack(_ twin: inout HealthPagesTwin) {
    twin.newest = max(0, twin.newest - Int64(number(1...2)))
    let newest = twin.newest
    twin.entries.removeAll { $0.added > newest }
    for place in twin.entries.indices where twin.entries[place].deleted ?? 0 > newest {
      twin.entries[place].deleted = nil
    }
  }

  // Anchors.

  /// Returns an anchor that no store made, or another one.
  private mutating func odd(_ anchor: [UInt8]?) -> HealthAnchor {
    guard var bytes = anchor else { return HealthAnchor([]) }
    switch number(0...4) {
    case 0: bytes.removeLast(number(1...bytes.count))
    case 1: bytes.append(0)
    case 2: bytes[0] = one([0, 2])
    case 3: bytes[number(1...8)] ^= 1
    case _:
      // Whether a walk that says it has no key yet may tell one is not said.
      let kinds = [0, 1, 2, 3, 4, 255].filter { $0 != bytes[17] }
      bytes[17] = one(kinds.filter { bytes[17] != 2 || $0 != 1 })
    }
    return HealthAnchor(bytes)
  }

  private mutating func tryAnchor(
    _ anchor: HealthAnchor, _ twin: HealthPagesTwin, _ place: HealthPagesTwin.Place
  ) {
    let walk = HealthWalk(anchor, of: twin.store)
    compareAnchor(walk?.done, place.done, walk?.store, twin.store)
    compareAnchor(walk?.anchor, anchor)
    let odd = happens(4) ? anchor : self.odd(anchor.bytes)
    compareGood(HealthWalk(odd, of: twin.store) != nil, odd == anchor, odd)
    compareText(odd.text, of: odd)
    compareNew(HealthWalk(twin.store), of: twin)
  }

  /// Compares what an anchor says that was read, and that is written again.
  mutating func compareAnchor(
    _ done: Int64?, _ mustBeDone: Int64, _ store: UInt64?, _ mustBeStore: UInt64
  ) {
    compare("what is done by an anchor", done, mustBeDone)
    compare("the store of an anchor", store, mustBeStore)
  }

  mutating func compareAnchor(_ again: HealthAnchor?, _ anchor: HealthAnchor) {
    compare("\(anchor.text), written again,", again, anchor)
  }

  mutating func compareGood(_ found: Bool, _ must: Bool, _ anchor: HealthAnchor) {
    compare("whether \(anchor.text) is an anchor", found, must)
  }

  mutating func compareText(_ found: String, of anchor: HealthAnchor) {
    var text = ""
    for byte in anchor.bytes { text += (byte < 16 ? "0" : "") + String(byte, radix: 16) }
    compare("the text of an anchor", found, text)
  }

  mutating func compareNew(_ walk: HealthWalk, of twin: HealthPagesTwin) {
    compare("the anchor of a new reader", walk.anchor.bytes, twin.anchor(.init()))
  }
}
