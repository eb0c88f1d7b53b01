import LinkCore

extension Action {
  /// How long it lasts; zero for what is over at once.
  public var length: Duration {
    switch self {
    case .background(let length), .suspend(let length), .sleep(let length),
      .leaveScreen(let length), .realtimeOff(let length), .slowReader(let length),
      .kill(let length), .blackHole(let length), .unreachable(let length), .flap(let length),
      .captivePortal(let length, _), .dialsFail(_, let length),
      .narrow(_, let length), .crash(let length), .deploy(let length), .restStatus(_, let length),
      .upgradeStatus(_, let length), .dieAfterNextPost(let length), .slowStore(_, let length),
      .removeMember(let length), .storeFull(let length), .storeLocked(let length),
      .storeSlow(let length):
      length
    case .others, .send, .loadOlder, .pullToRefresh, .retryFailed, .reset, .halfOpen, .handover,
      .mappingExpired, .beginAnew, .trim, .revokeTokens, .oversizedFrame, .malformedFrames, .close,
      .serverClock, .wallClock:
      .zero
    }
  }

  /// The same for another time; itself where it is over at once.
  func lasting(_ length: Duration) -> Action {
    switch self {
    case .background: .background(for: length)
    case .suspend: .suspend(for: length)
    case .sleep: .sleep(for: length)
    case .leaveScreen: .leaveScreen(for: length)
    case .realtimeOff: .realtimeOff(for: length)
    case .slowReader: .slowReader(for: length)
    case .kill: .kill(relaunchAfter: length)
    case .blackHole: .blackHole(for: length)
    case .unreachable: .unreachable(for: length)
    case .flap: .flap(for: length)
    case .captivePortal(_, let isKnown): .captivePortal(for: length, isKnown: isKnown)
    case .dialsFail(let obstacle, _): .dialsFail(obstacle, for: length)
    case .narrow(let bytes, _): .narrow(bytesPerSecond: bytes, for: length)
    case .crash: .crash(for: length)
    case .deploy: .deploy(for: length)
    case .restStatus(let status, _): .restStatus(status, for: length)
    case .upgradeStatus(let status, _): .upgradeStatus(status, for: length)
    case .dieAfterNextPost: .dieAfterNextPost(for: length)
    case .slowStore(let delay, _): .slowStore(delay: delay, for: length)
    case .removeMember: .removeMember(for: length)
    case .storeFull: .storeFull(for: length)
    case .storeLocked: .storeLocked(for: length)
    case .storeSlow: .storeSlow(for: length)
    case .others, .send, .loadOlder, .pullToRefresh, .retryFailed, .reset, .halfOpen, .handover,
      .mappingExpired, .beginAnew, .trim, .revokeTokens, .oversizedFrame, .malformedFrames, .close,
      .serverClock, .wallClock:
      self
    }
  }

  /// Variants that are simpler, the simplest first.
  var simpler: [Action] {
    if case .others(let count) = self {
      return Self.fewer(than: count).map { .others(messages: $0) }
    }
    if case .malformedFrames(let count) = self {
      return Self.fewer(than: count).map { .malformedFrames(count: $0) }
    }
    return lengths.map(lasting)
  }

  private static func fewer(than count: Int) -> [Int] {
    [1, count / 2, count - 1].filter { $0 > 0 && $0 < count }
  }

  private var lengths: [Duration] {
    let whole = Duration.seconds(length.components.seconds)
    let half = Duration.milliseconds(length.nanoseconds / 2_000_000)
    let candidates = [Duration.seconds(1), .seconds(10), .seconds(60), half, whole]
    return candidates.filter { $0 > .zero && $0 < length }
  }
}
