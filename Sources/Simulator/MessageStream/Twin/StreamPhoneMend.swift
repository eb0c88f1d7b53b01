import LinkCore
import LinkWire
import MessageStream

/// What a phone knows of how whole its stream is, told a second time.
struct StreamPhoneMend {
  var cursor = Cursor()
  var isCursorKept = false
  var run: Run?
  var again = false
  var isCurrent = false
  /// Offsets that came beyond the cursor, in no order.
  var ahead: [UInt64] = []
  /// Messages that say nothing of what lies before them.
  var loose: [MessageID] = []
  var retryAt: Instant?
  var failures = 0
  /// Whether the server gives positions; `nil` while that is not known.
  var hasPositions: Bool?
  var arrears: (end: Position, until: Instant)?
  /// The cursor when a socket was last asked for.
  var opening: Position?
  var unprepared: AttemptID?
  var fetchesFirst = false

  var isSettled: Bool { run == nil && retryAt == nil && !again }
  var deadline: Instant? { run.map(\.until) ?? retryAt ?? arrears?.until }

  /// What waits for a run.
  enum Cause: Equatable {
    case prepare(AttemptID)
    case live
    case poll(UInt64)
    case refresh
  }

  /// What a run fetches.
  enum Aim: Equatable {
    case first
    case recent
    case position
    case since(Timestamp)
    case newest(pages: Int)
  }

  /// The pages of one fetch.
  struct Run {
    var id: FetchID
    var query: PageQuery
    var aim: Aim
    var causes: [Cause]
    var until: Instant
    var pages = 1
    var head: Position?
    var newest: Timestamp?
    var oldest: TimelineKey?
    var hole: Gap?
    /// The oldest that was kept before it.
    var base: TimelineKey?
    /// What a walk has to come by before the hole under `base` is closed.
    var goal: MessageID?
    var cellar: Gap?
    /// Whether it came by something whole.
    var hasTouched = false
    var sameness = StreamPhoneSameness()
    var unsure: Set<UUID128>
    var own: Timestamp?
    var tokens: UInt64

    var via: Via {
      if aim == .first { return .history }
      for case .poll in causes { return .poll }
      return .catchUp
    }
  }

  /// Whether a message lies where nothing is missing.
  func covers(_ message: Message) -> Bool {
    if let known = cursor.position, let place = message.position {
      return known.epoch == place.epoch && known.offset >= place.offset
    }
    guard let time = cursor.time else { return false }
    return message.createdAt <= time
  }

  /// The last offset of those that follow each other.
  func end(of place: Position) -> Position {
    guard place.epoch == cursor.position?.epoch else { return place }
    var end = place
    while end.offset < .max, ahead.contains(end.offset + 1) { end.offset += 1 }
    return end
  }

  /// Moves the cursor over what follows it; whether nothing is left beyond.
  mutating func advance() -> Bool {
    guard let place = cursor.position else { return ahead.isEmpty }
    let end = end(of: place)
    cursor.position = end
    ahead = ahead.filter { $0 > end.offset }
    if let awaited = arrears, awaited.end.offset <= end.offset {
      arrears = nil
      isCurrent = true
    }
    return ahead.isEmpty
  }

  /// Takes an offset of the socket; whether nothing is missing before it.
  mutating func take(_ place: Position, advancing: Bool, isConnected: Bool) -> Bool {
    guard let known = cursor.position, known.epoch == place.epoch else { return false }
    if place.offset <= known.offset { return true }
    if !isConnected {
      if advancing, place.offset == known.offset + 1 { cursor.position = place }
      return cursor.position == place
    }
    if !ahead.contains(place.offset) { ahead.append(place.offset) }
    if !advancing { return false }
    if advance() { return true }
    guard let arrears else { return false }
    return !ahead.contains { $0 <= arrears.end.offset }
  }

  /// Whether nothing is missing of what the head of a new socket says.
  func isWhole(at head: Position) -> Bool {
    guard isSettled, ahead.isEmpty, let known = cursor.position else { return false }
    if known == head { return true }
    guard let opening, opening.epoch == head.epoch, known.epoch == head.epoch else { return false }
    return opening.offset <= head.offset && head.offset < known.offset
  }

  func goesOn(from start: Position, to head: Position) -> Bool {
    guard let known = cursor.position, Set([known.epoch, start.epoch, head.epoch]).count == 1 else {
      return false
    }
    return start.offset <= known.offset && known.offset <= head.offset
  }

  func via(_ message: Message) -> Via {
    guard let arrears, let place = message.position, place.epoch == arrears.end.epoch else {
      return .live
    }
    return place.offset > arrears.end.offset ? .live : .catchUp
  }
}
