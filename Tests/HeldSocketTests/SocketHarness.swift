import HoldfastCore
import Testing

@testable import HoldfastHeldSocket

/// A harness with a held socket, its clock and a log of its effects.
struct SocketHarness {
  var model: SocketModel
  var now = Instant.zero
  /// The model's effects, oldest first.
  var log: [SocketModel.Effect] = []
  /// The number of the last message that was sent with `send(_:)`.
  private var lastID: UInt64 = 0

  init(_ settings: SocketSettings = .plain, seed: UInt64 = 7) {
    model = SocketModel(settings, seed: seed)
  }

  /// Returns a connected harness with an empty log.
  static func connected(_ settings: SocketSettings = .plain) -> SocketHarness {
    var harness = SocketHarness(settings)
    harness.give(.start)
    harness.give(.opened(harness.attempt, subprotocol: nil))
    if settings.awaitsConfirmation { harness.say("welcome", SocketReading.confirming()) }
    harness.log = []
    return harness
  }

  /// The current attempt, or attempt 0 if there is none.
  var attempt: AttemptID { model.link.currentAttempt ?? AttemptID(0) }

  /// Passes an input to the model and returns its effects.
  @discardableResult
  mutating func give(_ input: SocketModel.Input) -> [SocketModel.Effect] {
    let effects = model.handle(input, at: now)
    #expect(model.brokenInvariants(.thorough) == [])
    log += effects
    return effects
  }

  /// Delivers a text message to the model.
  @discardableResult
  mutating func say(
    _ text: String, _ reading: SocketReading = SocketReading()
  ) -> [SocketModel.Effect] {
    give(.message(attempt, .text(text), reading))
  }

  /// Sends a message with the next number.
  @discardableResult
  mutating func send(_ message: SocketMessage) -> [SocketModel.Effect] {
    lastID += 1
    return give(.send(lastID, message))
  }

  /// Sends a text with the next number.
  @discardableResult
  mutating func send(_ text: String) -> [SocketModel.Effect] { send(.text(text)) }

  /// Sets or removes the standing message of a key.
  @discardableResult
  mutating func stand(_ key: String, _ text: String?) -> [SocketModel.Effect] {
    give(.standing(key, text.map { SocketMessage.text($0) }))
  }

  /// Lets time pass, calls the model at each of its deadlines, and returns the effects.
  @discardableResult
  mutating func pass(_ duration: Duration) -> [SocketModel.Effect] {
    let end = now.advanced(by: duration)
    let before = log.count
    while let due = model.deadline, due <= end {
      now = max(now, due)
      log += model.tick(at: now)
      #expect(model.brokenInvariants(.thorough) == [])
    }
    now = end
    return Array(log[before...])
  }

  /// Loses the connection and opens the next one, as soon as the policy allows.
  mutating func reconnect(after failure: LinkFailure = .reset) {
    give(.lost(attempt, failure))
    pass(.seconds(10))
    give(.opened(attempt, subprotocol: nil))
  }

  /// The statuses shown.
  var statuses: [LinkStatus] {
    log.compactMap { if case .update(.status(let status)) = $0 { status } else { nil } }
  }

  /// The attempts for which sockets were opened.
  var opens: [AttemptID] {
    log.compactMap { if case .open(let attempt) = $0 { attempt } else { nil } }
  }

  /// The texts of the standing messages passed to sockets.
  var stood: [String] {
    log.compactMap { effect in
      guard case .standing(_, let message) = effect else { return nil }
      return message.text
    }
  }

  /// The texts passed to sockets.
  var handed: [String] {
    log.compactMap { effect in
      guard case .send(_, let entry) = effect else { return nil }
      return entry.message.text
    }
  }
}

extension SocketSettings {
  /// The settings of the preset, for a protocol without special requirements.
  static let plain = SocketSettings(policy: .socket)

  /// The settings for a protocol whose greeting is confirmed.
  static let confirmed = change { $0.awaitsConfirmation = true }
  /// The settings for a protocol with a ping of its own.
  static let withPing = change { $0.hasPing = true }

  static func sending(_ outbox: Outbox) -> SocketSettings { change { $0.outbox = outbox } }

  static func resuming(_ position: String) -> SocketSettings {
    change { $0.position = Secret(position) }
  }

  private static func change(_ change: (inout SocketSettings) -> Void) -> SocketSettings {
    var settings = plain
    change(&settings)
    return settings
  }
}

extension SocketReading {
  static let answering = SocketReading(answersPing: true)
  static let noise = SocketReading(provesLife: false)

  static func confirming(at position: String? = nil) -> SocketReading {
    SocketReading(position: position, confirms: true)
  }

  static func at(_ position: String) -> SocketReading { SocketReading(position: position) }

  static func refusing(_ refusal: SocketRefusal) -> SocketReading {
    SocketReading(refusal: refusal)
  }
}

extension LinkStatus {
  /// The status of a connection with good quality, whether a round trip was measured or not.
  static let connected = LinkStatus(phase: .connected, mode: .live, quality: .good)
}

extension SocketModel.Effect {
  static func send(_ attempt: AttemptID, _ id: UInt64, _ text: String) -> Self {
    .send(attempt, OutboxMessage(id: id, message: .text(text)))
  }
}

/// Shorthands for inputs.
extension SocketModel.Input {
  static func opened(_ attempt: AttemptID, subprotocol: String?) -> Self {
    .socket(attempt, .opened(subprotocol: subprotocol))
  }

  static func message(
    _ attempt: AttemptID, _ message: SocketMessage, _ reading: SocketReading
  ) -> Self {
    .socket(attempt, .message(message, reading))
  }

  static func ping(_ attempt: AttemptID) -> Self { .link(.ping(attempt)) }
  static func pong(_ attempt: AttemptID, _ id: UInt64) -> Self { .link(.pong(attempt, id)) }
  static func unsent(_ attempt: AttemptID) -> Self { .socket(attempt, .unsent) }

  static func oversized(_ attempt: AttemptID, bytes: UInt64) -> Self {
    .link(.oversized(attempt, bytes: bytes))
  }

  static func lost(_ attempt: AttemptID, _ failure: LinkFailure) -> Self {
    .link(.lost(attempt, failure))
  }

  static func reading(_ attempt: AttemptID, isPaused: Bool) -> Self {
    .socket(attempt, .reading(isPaused: isPaused))
  }

  static func lifecycle(_ lifecycle: AppLifecycle) -> Self { .link(.device(.lifecycle(lifecycle))) }
}
