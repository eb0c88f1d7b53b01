public import HeldSocket
public import LinkCore

/// The checkers of a held socket's own promises.
public struct HeldCheckers: FeatureCheckers {
  /// The feature that they check.
  public typealias Feature = HeldFeature

  private var found = Findings()
  /// The newest message that was shown.
  private var shown = 0
  /// The newest thing that the user said and the server heard.
  private var heard = 0
  /// Things that were handed to sockets and not heard, beyond those of unknown fate.
  private var owed = 0
  /// The lines on which the server was greeted.
  private var greeted: Set<TrafficID> = []
  private var confirmed: Set<AttemptID> = []

  public init() {}

  public var findings: [Finding] { found.all }

  public mutating func stepped(
    _ input: SocketModel.Input?, isLate: Bool, _ effects: [SocketModel.Effect],
    _ standing: Standing<HeldFeature>
  ) {
    var isDelivered = true
    if case .socket(let attempt, .message(let message, let marks))? = input, !isLate {
      if marks.confirms { confirmed.insert(attempt) }
      isDelivered = effects.contains(.update(.message(message)))
    }
    if !isDelivered { found.add(.lost, at: standing.now, "a message came and was not delivered") }
    for effect in effects { check(effect, standing) }
  }

  private mutating func check(
    _ effect: SocketModel.Effect, _ standing: Standing<HeldFeature>
  ) {
    switch effect {
    case .update(.message(let message)):
      guard let number = message.text.flatMap({ Int($0) }) else { return }
      if number <= shown { found.add(.duplicated, at: standing.now, "\(number) was shown twice") }
      if number > shown + 1 {
        found.add(.lost, at: standing.now, "\(number) was shown after \(shown)")
      }
      shown = max(shown, number)
    case .update(.status(let status)) where status.phase == .connected:
      if let attempt = standing.currentAttempt, !confirmed.contains(attempt) {
        found.add(.falselyConnected, at: standing.now, "connected without a confirmation")
      }
    case .send: owed += 1
    case .update(.notice(.unproven(let count, _))): owed -= count
    case .open, .close, .greet, .resume, .ping, .ask, .refreshCredentials, .store, .remove,
      .update:
      return
    }
  }

  public mutating func met(
    _ seen: Observation<HeldFeature>, _ standing: Standing<HeldFeature>
  ) {
    switch seen {
    case .fact(.heard(let line, let packet)): hear(packet, line, standing.now)
    // The attempts of a new run are counted anew; what the old one handed over is of unknown fate.
    case .launched: (confirmed, owed, shown) = ([], 0, standing.own.shown)
    case .killed, .suspended, .resumed, .told, .ticked, .upgraded, .serverLost, .wentDead, .began,
      .ended, .calm:
      return
    }
  }

  private mutating func hear(_ packet: HeldFeature.Packet, _ line: TrafficID, _ now: Instant) {
    if packet == .hello { greeted.insert(line) }
    if !greeted.contains(line) {
      found.add(.unannounced, at: now, "something went out before the greeting")
    }
    guard case .said(let number) = packet else { return }
    owed -= 1
    if number == heard { found.add(.duplicated, at: now, "\(number) was sent twice") }
    if number < heard { found.add(.reordered, at: now, "\(number) was sent after \(heard)") }
    heard = max(heard, number)
  }

  public mutating func conclude(_ standing: Standing<HeldFeature>) {
    if owed > 0 {
      found.add(.lost, at: standing.now, "\(owed) sent messages were lost without a notice")
    }
  }
}

extension SocketModel: LinkModel {
  public static func role(of input: Input) -> InputRole {
    switch input {
    case .start: .wanted
    case .stop: .left
    case .device(.reachability): .changed
    case .device(.lifecycle(let lifecycle)): .lifecycle(lifecycle)
    case .device(.woke), .device(.again): .trigger
    case .credentials(let event): .credentials(event)
    case .socket(let attempt, .opened): .opened(attempt)
    case .socket(let attempt, .message): .data(attempt)
    case .socket(let attempt, .lost(let failure)): .lost(attempt, failure)
    case .socket(let attempt, _): .heard(attempt)
    case .send, .restored, .stored, .storeFailed: .other
    }
  }

  public static func role(of effect: Effect) -> EffectRole {
    switch effect {
    case .open(let attempt): .open(attempt)
    case .close(let attempt, _): .close(attempt)
    case .ping(let attempt, _): .ping(attempt)
    case .refreshCredentials: .refreshCredentials
    case .update(.notice): .notice
    case .greet, .resume, .send, .ask, .store, .remove, .update: .other
    }
  }

  public static func lifecycle(_ lifecycle: Lifecycle, at wall: Timestamp) -> Input {
    .device(.lifecycle(lifecycle))
  }
  public static func reachability(_ reachability: Reachability) -> Input {
    .device(.reachability(reachability))
  }
  public static func woke(at wall: Timestamp) -> Input { .device(.woke) }
  public static func ping(_ attempt: AttemptID) -> Input { .socket(attempt, .ping) }
  public static func pong(_ attempt: AttemptID, _ id: UInt64) -> Input {
    .socket(attempt, .pong(id))
  }
  public static func oversized(_ attempt: AttemptID, bytes: UInt64) -> Input {
    .socket(attempt, .oversized(bytes: bytes))
  }
  public static func lost(_ attempt: AttemptID, _ failure: LinkFailure) -> Input {
    .socket(attempt, .lost(failure))
  }
  public static func renamed(_ input: Input, to attempt: AttemptID) -> Input {
    guard case .socket(_, let news) = input else { return input }
    return .socket(attempt, news)
  }
}
