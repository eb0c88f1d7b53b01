import HoldfastHeldSocket
import HoldfastCore

extension HeldFeature {
  /// The checkers of the guarantees that are specific to a held socket.
  public struct Checkers: FeatureCheckers {
    /// The feature that the checkers check.
    public typealias Feature = HeldFeature

    private var found = Findings()
    /// The number of the newest message that was shown.
    private var shown = 0
    /// The numbers of the user's newest message passed to a socket and the newest that the server
    /// received.
    private var (handed, arrived) = (0, 0)
    /// The number of the newest message that may have arrived. This message and all earlier ones
    /// may be sent again.
    private var unsure = 0
    /// The user's messages that must arrive.
    private var expected: Set<Int> = []
    /// The number of messages that may not have arrived, as reported in notices.
    private var reportedLosses = 0
    /// The messages that were passed to the store.
    private var storing: [UInt64: Int] = [:]
    /// The newest message received over each line, for lines on which the server received a
    /// greeting.
    private var lines: [TrafficID: Int] = [:]
    private var confirmed: AttemptID?
    /// The attempt on whose socket the greeting was sent.
    private var greeted: AttemptID?
    /// The number of messages that may still be passed to a socket: accepted messages, and those to
    /// be sent again.
    private var mayGo = 0

    public init() {}

    public var findings: [Finding] { found.all }

    public mutating func received(
      _ input: Input, isLate: Bool, _ effects: [Effect], _ phoneState: PhoneState<HeldFeature>
    ) {
      switch input {
      case .socket(let attempt, .message(let message, let marks)):
        if isLate { return }
        if marks.confirms { confirmed = attempt }
        if effects.contains(.update(.message(message))) { return }
        found.add(.lost, at: phoneState.now, "a message came and was not delivered")
      case .send(let message):
        if effects.contains(where: \.isNotice) { return }
        mayGo += 1
        if phoneState.own.settings.outbox == .memory, let number = message.number {
          expected.insert(number)
        }
      case .stored(let id): if let number = storing[id] { expected.insert(number) }
      case .restored(let entries): mayGo += entries.count
      case .start, .stop, .link, .credentials, .socket, .storeFailed: return
      }
    }

    public mutating func requested(_ effect: Effect, _ phoneState: PhoneState<HeldFeature>) {
      switch effect {
      case .update(.message(let message)): show(message.number, phoneState.now)
      case .update(.status(let status)) where status.phase == .connected:
        let isProven = !phoneState.own.settings.awaitsConfirmation
        if isProven || phoneState.currentAttempt == confirmed { return }
        found.add(.falselyConnected, at: phoneState.now, "connected without a confirmation")
      case .greet(let attempt, _, _): greeted = attempt
      case .resume(let attempt, _), .ping(let attempt, _), .ask(let attempt):
        checkGreeting(attempt, phoneState.now)
      case .send(let attempt, let message):
        checkGreeting(attempt, phoneState.now)
        if mayGo == 0 {
          found.add(.duplicated, at: phoneState.now, "more was sent than was given")
        }
        mayGo = max(0, mayGo - 1)
        handed = max(handed, message.number ?? 0)
        if !phoneState.own.settings.outbox.repeats, let number = message.number {
          expected.insert(number)
        }
      case .store(let entry): storing[entry.id] = entry.message.number
      case .update(.notice(.unproven(let count, let isRepeated))):
        if isRepeated { (unsure, mayGo) = (handed, mayGo + count) } else { reportedLosses += count }
      case .open, .close, .refreshCredentials, .remove, .update: return
      }
    }

    /// Checks that the greeting is the first message of each connection.
    private mutating func checkGreeting(_ attempt: AttemptID, _ now: Instant) {
      if attempt == greeted { return }
      found.add(.unannounced, at: now, "something was sent before the greeting")
    }

    private mutating func show(_ number: Int?, _ now: Instant) {
      guard let number else { return }
      if number <= shown { found.add(.duplicated, at: now, "\(number) was shown twice") }
      if number > shown + 1 { found.add(.lost, at: now, "\(number) was shown after \(shown)") }
      shown = max(shown, number)
    }

    /// Handles a new process. The outcome of messages that the previous process held only in memory
    /// is unknown.
    public mutating func launched(_ phoneState: PhoneState<HeldFeature>) {
      (shown, confirmed, storing) = (phoneState.own.shown, nil, [:])
      (greeted, mayGo) = (nil, 0)
      if phoneState.own.settings.outbox == .durable {
        unsure = handed
      } else {
        (expected, reportedLosses) = ([], 0)
      }
    }

    public mutating func noted(_ fact: Fact, _ phoneState: PhoneState<HeldFeature>) {
      guard case .heard(let line, let packet) = fact else { return }
      if packet == .hello { lines[line] = 0 }
      guard let last = lines[line] else {
        return found.add(.unannounced, at: phoneState.now, "something went out before the greeting")
      }
      guard case .said(let number) = packet else { return }
      let newest = number <= unsure ? last : arrived
      if number == newest {
        found.add(.duplicated, at: phoneState.now, "\(number) was sent twice")
      } else if number < newest {
        found.add(.reordered, at: phoneState.now, "\(number) was sent after \(newest)")
      }
      (lines[line], arrived) = (number, max(arrived, number))
      expected.remove(number)
    }

    public mutating func conclude(_ phoneState: PhoneState<HeldFeature>) {
      if expected.count <= reportedLosses { return }
      found.add(
        .lost, at: phoneState.now,
        "\(expected.sorted()) did not arrive, notices say \(reportedLosses)")
    }
  }
}

extension SocketModel.Effect {
  fileprivate var isNotice: Bool { if case .update(.notice) = self { true } else { false } }
}

extension Finding.Kind {
  /// A message preceded the greeting on a connection.
  public static let unannounced = Finding.Kind(rawValue: "unannounced")
}
