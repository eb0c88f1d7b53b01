import HoldfastBottleData
public import HoldfastCore

/// The phone's side of a synchronization, which stores every chunk before it acknowledges the
/// chunk.
///
///     idle ──START──▶ requested ──chunk 0──▶ receiving ──last ACK──▶ finishing ──written──▶ idle
///                        │  no chunk: nothing    │ wrong chunk, silence, store, write: failed
///                        │  no chunk 0: failed   │
///                        └───────────▶ idle ◀────┴──────────── disconnect: idle
///
/// A bottle neither repeats nor verifies chunks, and an acknowledgement has no number. Therefore, a
/// repeated chunk is ignored, and a missing chunk ends the synchronization. The next
/// synchronization starts over, and the store recognizes known records.
public struct DrinkSync: Sendable, Hashable {
  var state = State.idle
  /// The number of new records in this synchronization.
  public internal(set) var added = 0

  enum State: Sendable, Hashable {
    case idle
    /// START was passed to the radio. Chunk 0 has not arrived, although a later chunk may have.
    case requested(until: Instant, found: UInt16? = nil)
    case receiving(Receiving)
    /// The last acknowledgement was passed to the radio.
    case finishing(WriteID)
  }

  struct Receiving: Sendable, Hashable {
    /// The index of the chunk that is being stored or awaited.
    var next: UInt16
    var total: UInt16
    var until: Instant
    /// The commit that stores the chunk; `nil` while the chunk is awaited.
    var storing: UInt64?
  }

  /// The action that follows a chunk.
  enum Action: Sendable, Hashable {
    case ignore
    case store([BottleRecord])
    case fail(SyncFailure)
  }

  /// Whether a synchronization is running.
  public var isRunning: Bool { state != .idle }

  /// The time-out of the awaited chunk; `nil` while the store or the radio is busy.
  var deadline: Instant? {
    switch state {
    case .requested(let until, _): until
    case .receiving(let receiving): receiving.storing == nil ? receiving.until : nil
    case .idle, .finishing: nil
    }
  }

  mutating func begin(until: Instant) {
    state = .requested(until: until)
    added = 0
  }

  mutating func stop() { state = .idle }

  /// Handles a chunk and returns the action that follows.
  ///
  /// - Parameter until: The time-out of the next chunk.
  mutating func take(_ chunk: BottleChunk, until: Instant) -> Action {
    guard !chunk.isBlank else { return .ignore }
    switch state {
    case .idle, .finishing: return .ignore
    case .requested(let due, let found):
      // Chunks of an older synchronization may still arrive before the first chunk.
      guard chunk.index == 0 else {
        state = .requested(until: due, found: found ?? chunk.index)
        return .ignore
      }
      state = .receiving(Receiving(next: 0, total: chunk.total, until: until))
      return .store(chunk.records)
    case .receiving(var receiving):
      guard chunk.index >= receiving.next, receiving.storing == nil || chunk.index > receiving.next
      else { return .ignore }
      guard chunk.index == receiving.next else {
        return .fail(.missingChunk(expected: receiving.next, found: chunk.index))
      }
      guard chunk.total == receiving.total else {
        return .fail(.changedTotal(from: receiving.total, to: chunk.total))
      }
      receiving.until = until
      state = .receiving(receiving)
      return .store(chunk.records)
    }
  }

  mutating func storing(_ commit: UInt64) {
    guard case .receiving(var receiving) = state else { return }
    receiving.storing = commit
    state = .receiving(receiving)
  }

  /// Marks the chunk of a commit as stored.
  ///
  /// - Returns: Whether the chunk was the last one; `nil` if the commit stores another change.
  mutating func stored(_ commit: UInt64, added new: Int) -> Bool? {
    guard case .receiving(var receiving) = state, receiving.storing == commit else { return nil }
    added += new
    receiving.storing = nil
    receiving.next += 1
    state = .receiving(receiving)
    return receiving.next >= receiving.total
  }

  mutating func finish(with write: WriteID) { state = .finishing(write) }

  func isStoring(_ commit: UInt64) -> Bool {
    guard case .receiving(let receiving) = state else { return false }
    return receiving.storing == commit
  }
}

extension DrinkSync: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(added >= 0, "drink sync: what was added is counted")
    guard case .receiving(let receiving) = state else { return }
    check.require(
      receiving.next < receiving.total, "drink sync: it waits only for a chunk that exists")
  }
}

/// The ID of a write, used until the radio has responded.
public struct WriteID: NumberedID {
  public var number: UInt64

  public init(_ number: UInt64) {
    self.number = number
  }
}

/// The reason why a synchronization failed. Records that were stored before the failure are kept.
public enum SyncFailure: Error, Sendable, Hashable, Codable {
  case missingChunk(expected: UInt16, found: UInt16)
  case changedTotal(from: UInt16, to: UInt16)
  /// A chunk could not be decoded, for example because it was truncated. The retry requests shorter
  /// chunks.
  case malformed(detail: String)
  /// A chunk did not arrive in time.
  case silence
  case store(StoreFailure)
  case write(LinkFailure)
  case disconnected

  /// A human-readable description of the failure.
  public var text: String {
    switch self {
    case .missingChunk(let expected, let found): "chunk \(found) came instead of \(expected)"
    case .changedTotal(let from, let to): "the number of chunks changed from \(from) to \(to)"
    case .malformed(let detail): detail
    case .silence: "the bottle sent no more chunks"
    case .store(let failure): failure.description
    case .write: "the bottle did not take what was written"
    case .disconnected: "the bottle disconnected"
    }
  }
}
