public import HoldfastCore
public import HoldfastMessageData

/// The newest messages of a shop in memory. They are sorted and bounded, and each ID occurs once.
///
/// The store keeps all messages, so it recognizes repeated IDs that are no longer in memory.
public struct ShopTimeline: Sendable, Hashable {
  /// The messages, oldest first. They are ordered by creation time, then by ID.
  public internal(set) var messages: [ShopMessage] = []
  private var ids: Set<MessageID> = []
  /// The memory that the messages use, in bytes.
  public private(set) var bytes = 0
  /// Whether the store may contain older messages than memory.
  var isFull: Bool { isCut || messages.count >= limit }
  private var isCut = false
  private let limit: Int
  private let byteLimit: Int

  init(limit: Int, bytes: Int = StreamSettings.memoryBytes) {
    (self.limit, byteLimit) = (limit, bytes)
  }

  /// The key of the last message; `nil` without messages.
  public var newest: TimelineKey? { messages.last?.key }
  /// The key of the first message; `nil` without messages.
  public var oldest: TimelineKey? { messages.first?.key }

  /// Returns whether the message with this ID is in memory, in O(1).
  public func contains(_ id: MessageID) -> Bool { ids.contains(id) }

  /// Returns the message with this ID; `nil` if it is not in memory.
  public subscript(id: MessageID) -> ShopMessage? {
    guard ids.contains(id) else { return nil }
    return messages.last { $0.id == id }
  }

  /// Returns the version of a message that is in memory; `nil` if there is none.
  func version(of message: ShopMessage) -> ShopMessage? { place(of: message).map { messages[$0] } }

  /// Returns whether a message has a position in another log than its version in memory.
  func isOfOtherLog(_ message: ShopMessage) -> Bool {
    place(of: message).map { message.isOfOtherLog(than: messages[$0]) } ?? false
  }

  /// Returns the index of a message's version. The cost is O(log n), unless the version has another
  /// creation time.
  private func place(of message: ShopMessage) -> Int? {
    let place = index(of: message.key)
    if place < messages.count, messages[place].id == message.id { return place }
    return ids.contains(message.id) ? messages.lastIndex { $0.id == message.id } : nil
  }

  /// Inserts a message in order unless it is present. The caller must call `trim` afterward.
  ///
  /// The cost is O(1) for the newest message. Otherwise it is O(n), since the later messages are
  /// moved.
  @discardableResult
  mutating func insert(_ message: ShopMessage) -> Bool {
    guard ids.insert(message.id).inserted else { return false }
    if let last = messages.last, last.key > message.key {
      messages.insert(message, at: index(of: message.key))
    } else {
      messages.append(message)
    }
    bytes += message.footprint
    return true
  }

  /// Removes the oldest messages beyond the limits, but never the newest message. The cost is O(n)
  /// for any number of removals.
  mutating func trim() {
    var surplus = 0
    while messages.count - surplus > limit
      || bytes > byteLimit && surplus < messages.count - 1
    {
      ids.remove(messages[surplus].id)
      bytes -= messages[surplus].footprint
      surplus += 1
    }
    guard surplus > 0 else { return }
    isCut = true
    messages.removeFirst(surplus)
  }

  /// Records that the store has older messages than it returned.
  mutating func noteOlder() { isCut = true }

  /// Replaces an edited message, and moves it if its timestamp was edited.
  mutating func replace(_ message: ShopMessage) {
    guard let at = place(of: message) else { return }
    bytes += message.footprint - messages[at].footprint
    if messages[at].key == message.key {
      messages[at] = message
    } else {
      messages.remove(at: at)
      messages.insert(message, at: index(of: message.key))
    }
  }

  /// Applies the positions that a message has in another log.
  mutating func takePositions(of message: ShopMessage) {
    guard let at = place(of: message),
      message.isOfOtherLog(than: messages[at])
        || messages[at].position == nil && message.position != nil
    else { return }
    (messages[at].position, messages[at].changed) = (message.position, message.changed)
  }

  /// Removes a message. The cost is O(n), as for an insertion between older messages.
  mutating func remove(_ id: MessageID) {
    guard ids.remove(id) != nil, let at = messages.lastIndex(where: { $0.id == id }) else { return }
    bytes -= messages.remove(at: at).footprint
  }

  /// Removes the positions of messages.
  mutating func forgetPositions(where isForgotten: (ShopMessage) -> Bool) {
    for index in messages.indices where isForgotten(messages[index]) {
      messages[index].position = nil
    }
  }

  private func index(of key: TimelineKey) -> Int {
    var low = 0
    var high = messages.count
    while low < high {
      let middle = (low + high) / 2
      if messages[middle].key < key { low = middle + 1 } else { high = middle }
    }
    return low
  }
}

extension ShopTimeline: SelfChecking {
  public func check(_ check: inout InvariantCheck) {
    check.require(messages.count == ids.count, "timeline: each id is in it once")
    check.require(messages.count <= limit, "timeline: it holds no more than its limit")
    check.require(
      bytes <= byteLimit || messages.count <= 1, "timeline: it takes no more memory than its limit")
    guard check.isThorough else { return }
    check.require(
      bytes == messages.reduce(0) { $0 + $1.footprint }, "timeline: it knows its memory")
    check.require(messages.allSatisfy { ids.contains($0.id) }, "timeline: it knows its ids")
    check.require(
      zip(messages, messages.dropFirst()).allSatisfy { $0.key < $1.key },
      "timeline: messages are in order")
  }
}
