import HoldfastCore
import HoldfastHeldSocket
public import HoldfastLinkChecks

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
    /// The numbers of the user's messages by the ids that they have in this process.
    private var numbers: [UInt64: Int] = [:]
    /// The newest message received over each line, for lines on which the server received a
    /// greeting.
    private var lines: [TrafficID: Int] = [:]
    private var confirmed: AttemptID?
    /// The attempt on whose socket the greeting was sent.
    private var greeted: AttemptID?
    /// The number of messages that may still be passed to a socket: accepted messages, and those to
    /// be sent again.
    private var mayGo = 0
    /// The standing messages, in the order in which their keys were first set.
    private var standing: [(key: String, message: SocketMessage)] = []
    /// The standing messages that the current step must still send.
    private var owed: [SocketMessage] = []
    /// The versions of standing messages that the server received over each line.
    private var versions: [TrafficID: Set<Int>] = [:]
    /// The number of the newest message that was reported as proven.
    private var proven: UInt64 = 0

    public init() {}

    public var findings: [Finding] { found.all }

    public mutating func stepped(
      _ input: Input?, isLate: Bool, _ effects: [Effect], _ phoneState: PhoneState<HeldFeature>
    ) {
      if let input { received(input, isLate: isLate, effects, phoneState) }
      for effect in effects { requested(effect, phoneState) }
      if owed.isEmpty { return }
      found.add(.lost, at: phoneState.now, "\(owed.count) standing messages were not sent")
      owed = []
    }

    public mutating func received(
      _ input: Input, isLate: Bool, _ effects: [Effect], _ phoneState: PhoneState<HeldFeature>
    ) {
      switch input {
      case .socket(let attempt, .message(let message, let reading)):
        if isLate { return }
        if reading.confirms { confirmed = attempt }
        if effects.contains(.update(.message(message))) { return }
        found.add(.lost, at: phoneState.now, "a message came and was not delivered")
      case .send(let id, let message):
        if effects.contains(where: \.isNotice) { return }
        mayGo += 1
        numbers[id] = message.number
        if phoneState.own.settings.outbox == .memory, let number = message.number {
          expected.insert(number)
        }
      case .makeStanding: return  // The simulated app sets only messages that are made before.
      case .standing(let key, let message):
        if !effects.contains(where: \.isNotice) { set(key, message, phoneState) }
      case .stored(let id): if let number = storing[id] { expected.insert(number) }
      case .restored(let entries):
        mayGo += entries.count
        for entry in entries { numbers[entry.id] = entry.message.number }
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
      case .resume(let attempt, _):
        checkGreeting(attempt, phoneState.now)
        owed = standing.map { $0.message }
      case .ping(let attempt, _), .ask(let attempt): checkGreeting(attempt, phoneState.now)
      case .standing(let attempt, let message):
        checkGreeting(attempt, phoneState.now)
        stand(message, phoneState.now)
      case .send(let attempt, let entry):
        checkGreeting(attempt, phoneState.now)
        let message = entry.message
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
      case .update(.proven(let id)):
        checkProof(id, phoneState.own.settings.outbox, phoneState.now)
      case .open, .close, .refreshCredentials, .remove, .makeStanding, .update: return
      }
    }

    /// Records a standing message, which must be sent now if there is a connection.
    private mutating func set(
      _ key: String, _ message: SocketMessage?, _ phoneState: PhoneState<HeldFeature>
    ) {
      guard let message else { return standing.removeAll { $0.key == key } }
      if let index = standing.firstIndex(where: { $0.key == key }) {
        standing[index].message = message
      } else {
        standing.append((key, message))
      }
      if phoneState.status.phase == .connected { owed.append(message) }
    }

    /// Checks that a standing message is due.
    private mutating func stand(_ message: SocketMessage, _ now: Instant) {
      if let index = owed.firstIndex(of: message) {
        owed.remove(at: index)
      } else {
        found.add(.duplicated, at: now, "a standing message was sent again")
      }
    }

    /// Checks that everything up to a number has arrived.
    private mutating func checkProof(
      _ id: UInt64, _ outbox: SocketSettings.Outbox, _ now: Instant
    ) {
      if !outbox.repeats {
        found.add(.lost, at: now, "\(id) counts as proven, and earlier messages may be lost")
      }
      if id <= proven { found.add(.duplicated, at: now, "\(id) was proven twice") }
      proven = max(proven, id)
      let covered = numbers.filter { $0.key <= id }.values
      let missing = expected.intersection(covered)
      if missing.isEmpty { return }
      found.add(.lost, at: now, "\(missing.sorted()) did not arrive, and count as proven")
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
      (shown, confirmed, storing, numbers) = (phoneState.own.shown, nil, [:], [:])
      (greeted, mayGo, standing, proven) = (nil, 0, [], 0)
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
      if case .standing(let version) = packet,
        !versions[line, default: []].insert(version).inserted
      {
        found.add(.duplicated, at: phoneState.now, "standing message \(version) was sent twice")
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
