/// The bottle's side of a synchronization. It sends one chunk after each acknowledgement.
///
///     idle ──START──▶ sending ──ACK──▶ sending … ──last ACK──▶ idle, records marked
///                        │ START: restarts          │ disconnect: idle, nothing marked
///                        └──────────────────────────┘
///
/// The responder stores only ids. Records that are added, deleted or overwritten during the
/// synchronization do not change which of the other records are sent.
public struct SyncResponder: Sendable, Equatable {
  /// Whether a synchronization is running.
  public private(set) var isSending = false
  /// The number of the last chunk that was sent, counted from 0.
  public private(set) var index: UInt16 = 0
  /// The number of chunks in the synchronization. Each has up to 20 records.
  public private(set) var total: UInt16 = 0
  /// The maximum number of records in a chunk.
  private var size: UInt16 = 0
  /// The id of the last record in the synchronization.
  private var last: UInt32 = 0
  /// The id after which the current chunk begins, and the id of its last record.
  private var before: UInt32 = 0
  private var sent: UInt32 = 0
  /// The number of records in the synchronization.
  private var asked: UInt16 = 0

  public init() {}

  /// Begins a synchronization of up to `count` records. Returns whether there is a chunk to send.
  mutating func start<Storage>(
    count: UInt16, chunkSize: UInt16, in ring: borrowing RecordRing<Storage>
  ) -> Bool {
    self = SyncResponder()
    size = chunkSize >= 1 && chunkSize <= 20 ? chunkSize : 20
    var index = ring.firstWaiting(after: 0, upTo: .max)
    while index < ring.count, asked < count {
      if ring[index].isWaiting {
        asked &+= 1
        last = ring[index].id
      }
      index &+= 1
    }
    guard asked > 0 else { return false }
    total = (asked &- 1) / size &+ 1
    isSending = true
    take(in: ring)
    return true
  }

  /// Handles the acknowledgement of the most recent chunk. Returns whether there is another chunk
  /// to send.
  mutating func acknowledge<Storage>(
    in ring: inout RecordRing<Storage>, marksFirst: Bool
  ) -> Bool {
    guard index &+ 1 < total else {
      if marksFirst { ring.markFirst(asked) } else { ring.markSynced(upTo: sent) }
      isSending = false
      return false
    }
    index &+= 1
    before = sent
    take(in: ring)
    return true
  }

  mutating func stop() { self = SyncResponder() }

  /// Returns the number of records in the current chunk.
  public func recordCount<Storage>(in ring: borrowing RecordRing<Storage>) -> Int {
    var found = 0
    var index = ring.firstWaiting(after: before, upTo: sent)
    while index < ring.count {
      found &+= 1
      index = ring.firstWaiting(after: ring[index].id, upTo: sent)
    }
    return found
  }

  /// Returns the record of the current chunk at an index.
  public func record<Storage>(
    _ number: Int, in ring: borrowing RecordRing<Storage>
  ) -> DrinkRecord {
    var id = before
    var left = number
    while true {
      let index = ring.firstWaiting(after: id, upTo: sent)
      guard index < ring.count else { return .blank }
      if left == 0 { return ring[index] }
      id = ring[index].id
      left &-= 1
    }
  }

  /// Adds records to the current chunk until it is full.
  private mutating func take<Storage>(in ring: borrowing RecordRing<Storage>) {
    var left = size
    while left > 0 {
      let index = ring.firstWaiting(after: sent, upTo: last)
      guard index < ring.count else { return }
      sent = ring[index].id
      left &-= 1
    }
  }
}
