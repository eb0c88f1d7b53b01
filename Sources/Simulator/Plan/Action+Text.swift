import LinkCore

// How actions are written in files: a name, then numbers and words, such as `restStatus 503 30s`.
extension Action {
  /// The short form; what `init(text:)` reads.
  public var text: String {
    ([name] + words).joined(separator: " ")
  }

  private var words: [String] {
    switch self {
    case .others(let count), .beginAnew(let count), .trim(let count), .malformedFrames(let count):
      ["\(count)"]
    case .close(let code): ["\(code)"]
    case .serverClock(let jump), .wallClock(let jump): [jump.signed]
    case .revokeTokens(let refresh): [refresh.rawValue]
    case .captivePortal(let span, let isKnown): [span.text, isKnown ? "known" : "unknown"]
    case .narrow(let bytes, let span): ["\(bytes)", span.text]
    case .restStatus(let status, let span), .upgradeStatus(let status, let span):
      ["\(status)", span.text]
    case .slowStore(let delay, let span): [delay.text, span.text]
    case .dialsFail(let obstacle, let span): [obstacle.rawValue, span.text]
    case .background(let span), .suspend(let span), .sleep(let span), .leaveScreen(let span),
      .realtimeOff(let span), .slowReader(let span), .kill(let span), .blackHole(let span),
      .unreachable(let span), .flap(let span), .crash(let span), .deploy(let span),
      .dieAfterNextPost(let span),
      .removeMember(let span), .storeFull(let span), .storeLocked(let span), .storeSlow(let span):
      [span.text]
    case .send, .loadOlder, .pullToRefresh, .retryFailed, .reset, .halfOpen, .handover,
      .mappingExpired, .oversizedFrame:
      []
    }
  }

  /// Reads what `text` writes; `nil` otherwise.
  public init?(text: some StringProtocol) {
    let words = text.split { $0 == " " }.map { String($0) }
    guard let name = words.first else { return nil }
    let action: Action? =
      switch words.count {
      case 1: Self.atOnce.first { $0.name == name }
      case 2: Self.read(name, words[1])
      case 3: Self.read(name, words[1], words[2])
      case _: nil
      }
    guard let action else { return nil }
    self = action
  }

  private static let atOnce: [Action] = [
    .send, .loadOlder, .pullToRefresh, .retryFailed, .reset, .halfOpen, .handover,
    .mappingExpired, .oversizedFrame,
  ]

  private static func read(_ name: String, _ word: String) -> Action? {
    if let make = lasting[name] { return Duration(text: word).map(make) }
    return switch name {
    case "others": Int(word).map { .others(messages: $0) }
    case "beginAnew": Int(word).map { .beginAnew(keeping: $0) }
    case "trim": Int(word).map { .trim(keeping: $0) }
    case "malformedFrames": Int(word).map { .malformedFrames(count: $0) }
    case "close": UInt16(word).map { .close(code: $0) }
    case "serverClock": Duration(signed: word).map { .serverClock(by: $0) }
    case "wallClock": Duration(signed: word).map { .wallClock(by: $0) }
    case "revokeTokens": Refresh(rawValue: word).map { .revokeTokens(refresh: $0) }
    case _: nil
    }
  }

  private static let lasting: [String: @Sendable (Duration) -> Action] = [
    "background": { .background(for: $0) }, "suspend": { .suspend(for: $0) },
    "sleep": { .sleep(for: $0) }, "leaveScreen": { .leaveScreen(for: $0) },
    "realtimeOff": { .realtimeOff(for: $0) }, "slowReader": { .slowReader(for: $0) },
    "kill": { .kill(relaunchAfter: $0) }, "blackHole": { .blackHole(for: $0) },
    "unreachable": { .unreachable(for: $0) }, "flap": { .flap(for: $0) },
    "crash": { .crash(for: $0) },
    "deploy": { .deploy(for: $0) }, "dieAfterNextPost": { .dieAfterNextPost(for: $0) },
    "removeMember": { .removeMember(for: $0) }, "storeFull": { .storeFull(for: $0) },
    "storeLocked": { .storeLocked(for: $0) }, "storeSlow": { .storeSlow(for: $0) },
  ]

  private static func read(_ name: String, _ first: String, _ second: String) -> Action? {
    if name == "captivePortal" {
      guard let span = Duration(text: first), second == "known" || second == "unknown" else {
        return nil
      }
      return .captivePortal(for: span, isKnown: second == "known")
    }
    guard let span = Duration(text: second) else { return nil }
    return switch name {
    case "narrow": Int64(first).map { .narrow(bytesPerSecond: $0, for: span) }
    case "restStatus": Int(first).map { .restStatus($0, for: span) }
    case "upgradeStatus": Int(first).map { .upgradeStatus($0, for: span) }
    case "slowStore": Duration(text: first).map { .slowStore(delay: $0, for: span) }
    case "dialsFail": Obstacle(rawValue: first).map { .dialsFail($0, for: span) }
    case _: nil
    }
  }
}

extension Action: Codable {
  public init(from decoder: any Decoder) throws {
    let container = try decoder.singleValueContainer()
    let text = try container.decode(String.self)
    guard let action = Action(text: text) else {
      throw DecodingError.dataCorruptedError(
        in: container, debugDescription: "no action: \(text)")
    }
    self = action
  }

  public func encode(to encoder: any Encoder) throws {
    var container = encoder.singleValueContainer()
    try container.encode(text)
  }
}

extension Duration {
  /// As `text`, and what goes back begins with a minus.
  fileprivate var signed: String { self < .zero ? "-" + (.zero - self).text : text }

  fileprivate init?(signed word: String) {
    guard word.hasPrefix("-") else {
      self.init(text: word)
      return
    }
    guard let span = Duration(text: word.dropFirst()) else { return nil }
    self = .zero - span
  }
}
