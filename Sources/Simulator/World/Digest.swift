import LinkCore
import LinkServerCore
import LinkWire
import MessageStream

/// A hash over everything that happened, in order: equal for equal runs, on every machine.
struct Digest {
  /// FNV-1a's basis and prime, over words instead of bytes.
  private(set) var value: UInt64 = 0xCBF2_9CE4_8422_2325

  mutating func mix(_ word: UInt64) {
    value = (value ^ word) &* 0x0000_0100_0000_01B3
    value ^= value >> 29
  }

  private mutating func mix(_ id: UUID128) {
    mix(id.high)
    mix(id.low)
  }

  mutating func note(_ happening: Happening, at now: Instant) {
    mix(UInt64(bitPattern: now.nanoseconds))
    switch happening {
    case .launched(let run): mix(1, UInt64(run))
    case .killed: mix(2)
    case .suspended: mix(3)
    case .resumed: mix(4)
    case .told(let input, let isLate, let effects):
      mix(5, isLate ? 1 : 0)
      note(input)
      note(effects)
    case .ticked(let effects):
      mix(6)
      note(effects)
    case .stored(let change, let commit):
      mix(7, UInt64(commit.inserted.count))
      for id in commit.inserted { mix(id) }
      mix(change.cursor?.position?.offset ?? 0, UInt64(change.outboxPut.count))
    case .accepted(let message, let isNew):
      mix(8, isNew ? 1 : 0)
      mix(message.id)
    case .beganAnew(_, let kept): mix(9, UInt64(kept.count))
    case .upgraded(let attempt, let status): mix(10, attempt.number, UInt64(status))
    case .serverLost(let attempt): mix(11, attempt.number)
    case .wentDead(let attempt): mix(12, attempt.number)
    case .began: mix(13)
    case .ended: mix(14)
    case .calm: mix(15)
    }
  }

  private mutating func mix(_ first: UInt64, _ second: UInt64, _ third: UInt64 = 0) {
    mix(first << 56 ^ second << 24 ^ third)
  }

  private mutating func note(_ input: StreamModel.Input) {
    switch input {
    case .open(let wall): mix(20, UInt64(bitPattern: wall.nanoseconds))
    case .close: mix(21)
    case .realtime(let isOn): mix(22, isOn ? 1 : 0)
    case .refresh: mix(23)
    case .loadOlder: mix(24)
    case .send(let text, _, _): mix(25, UInt64(text.utf8.count))
    case .retry(let id), .discard(let id): mix(id)
    case .reachability: mix(26)
    case .lifecycle(_, let wall): mix(27, UInt64(bitPattern: wall.nanoseconds))
    case .woke(let wall): mix(28, UInt64(bitPattern: wall.nanoseconds))
    case .credentials: mix(29)
    case .opened(let attempt, let head, let after):
      mix(30, attempt.number, (head?.offset ?? 0) ^ (after?.offset ?? 0) << 12)
    case .frame(let attempt, let frame):
      mix(31, attempt.number)
      if case .message(let message) = frame { mix(message.id) }
    case .ping(let attempt): mix(32, attempt.number)
    case .pong(let attempt, let id): mix(33, attempt.number, id)
    case .oversized(let attempt, let bytes): mix(34, attempt.number, bytes)
    case .lost(let attempt, let failure): mix(35, attempt.number, Self.status(failure))
    case .fetched(let id, let page):
      mix(36, id.number, UInt64(page.messages.count))
      if let last = page.messages.last { mix(last.id) }
    case .fetchFailed(let id, _): mix(37, id.number)
    case .posted(let id, let message):
      mix(id)
      mix(message.id)
    case .postFailed(let id, _): mix(id)
    case .loaded(let snapshot): mix(38, UInt64(snapshot.messages.count))
    case .loadFailed: mix(39)
    case .committed(let id, let commit): mix(40, id.number, UInt64(commit.inserted.count))
    case .commitFailed(let id, _): mix(41, id.number)
    case .older(let messages): mix(42, UInt64(messages.count))
    case .olderFailed: mix(43)
    case .reader(let isBehind): mix(44, isBehind ? 1 : 0)
    case .user(let user): mix(45, UInt64(user.utf8.count))
    }
  }

  private static func status(_ failure: LinkFailure) -> UInt64 {
    if case .http(let status, _, _) = failure { UInt64(status) } else { 0 }
  }

  private mutating func note(_ effects: [StreamModel.Effect]) {
    mix(UInt64(effects.count))
    for effect in effects {
      switch effect {
      case .open(let attempt, let after):
        mix(50, attempt.number)
        if let after { mix(after.offset) }
      case .close(let attempt, let code): mix(51, attempt.number, UInt64(code))
      case .ping(let attempt, let id): mix(52, attempt.number, id)
      case .refreshCredentials: mix(53)
      case .fetch(let id, _): mix(54, id.number)
      case .post(let entry): mix(entry.id)
      case .load(let limit): mix(55, UInt64(limit))
      case .commit(let id, let change): mix(56, id.number, UInt64(change.messages.count))
      case .readOlder(_, let limit): mix(57, UInt64(limit))
      case .update(let update):
        mix(58)
        if case .messages(let messages, _) = update {
          for message in messages { mix(message.id) }
        }
      }
    }
  }
}
