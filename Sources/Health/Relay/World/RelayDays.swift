import HoldfastCore
import HoldfastLinkChecks
public import HoldfastRelayChecks
import HoldfastRelayServer
public import HoldfastWorldKernel

/// The numbers that a plan of relays fixes for a run, in addition to the network conditions.
public struct RelayNumbers: PlanNumbers {
  /// The duration of a call to the backend's store.
  public var storeDelay = Duration.milliseconds(2)
  /// The maximum time that a phone takes to read data for an answer.
  public var reading = Duration.milliseconds(100)
  /// The number of bytes added to each answer. Above 2,000 bytes, the answer is sent in parts.
  public var answerBytes = 0
  /// Whether a push can wake phones: 1 if it can, otherwise 0.
  public var push = 0
  /// The phones without a device ID, as a bit set.
  public var plain = 0
  /// The phones with a foreground service, as a bit set.
  public var services = 3
  /// The lifetime of an assistant's token.
  public var tokenLife = RelayServerPolicy().tokenLife

  public init() {}

  public static var fields: [PlanField<RelayNumbers>] {
    [
      .span("storeDelay", \.storeDelay), .span("reading", \.reading),
      .number("answerBytes", \.answerBytes, 0...1_000_000), .number("push", \.push, 0...1),
      .number("plain", \.plain, 0...3), .number("services", \.services, 0...3),
      .span("tokenLife", \.tokenLife, atLeast: .seconds(1)),
    ]
  }
}

extension RelayFeature {
  public static func draw(_ preset: DayPreset, _ builder: inout PlanBuilder<RelayFeature>) {
    builder.day(preset)
    builder.life()
    let isRough = preset == .swarm || preset == .deploy
    builder.swarm(PlanBuilder<RelayFeature>.troubles, times: isRough ? 8...20 : 0...4)
    builder.chooseHosts()
    builder.aside { $0.oddities(preset) }
  }
}

extension PlanBuilder<RelayFeature> {
  /// Adds the usual actions of people, and draws the properties of the phones and the backend.
  fileprivate mutating func life() {
    networkConditions.slow = draw.one(0, 0, 0.02, 0.1)
    networkConditions.twice = draw.one(0, 0, 0.05, 0.2)
    numbers.storeDelay = draw.one(.milliseconds(2), .milliseconds(20), .milliseconds(300))
    numbers.reading = draw.one(.milliseconds(100), .seconds(2), .seconds(12))
    numbers.answerBytes = draw.one(0, 0, 5_000, 9_000)
    numbers.push = draw.count(0...1)
    numbers.plain = draw.one(0, 0, 0, 1, 2)
    numbers.services = draw.count(0...3)
    scatter(draw.count(20...60)) {
      let timeLimit = $0.one(.seconds(60), .seconds(60), .seconds(60), $0.seconds(0.01, 30))
      return PlannedEvent(.asks, by: timeLimit)
    }
    scatter(draw.count(0...4)) { $0.one(PlannedEvent(.leaves), PlannedEvent(.logsOut)) }
  }

  /// Restricts most events to a single phone, and each event of assistants to a single assistant.
  fileprivate mutating func chooseHosts(from first: Int = 0) {
    for index in events.indices.dropFirst(first) {
      switch events[index].event.kind ?? events[index].event.form.host {
      case .phone:
        if draw.happens(0.75) { events[index].event.host = draw.count(0...RelayFeature.phones - 1) }
      case .client: events[index].event.host = draw.count(0...RelayFeature.assistants - 1)
      case .backend, .peripheral, .system: continue
      }
    }
  }

  /// In some plans, adds events that were introduced later.
  fileprivate mutating func oddities(_ preset: DayPreset) {
    guard draw.happens(preset == .swarm ? 0.5 : 0.2) else { return }
    if draw.happens(0.3) { numbers.tokenLife = draw.seconds(300, 3_000) }
    let first = events.count
    swarm(Self.odd, times: 4...16)
    chooseHosts(from: first)
    if draw.happens(0.4) { orphan() }
  }

  /// Adds a sequence of events: a phone leaves, a question to the phone is stored, the backend
  /// dies, and both assistants of the phone ask the same question again.
  private mutating func orphan() {
    let start = draw.seconds(60, Double(length.components.seconds) - 120)
    let phone = RelayFeature.phones - 1
    add(PlannedEvent(.background, for: .seconds(60), on: phone), at: start)
    add(PlannedEvent(.asks, by: .seconds(60), on: phone), at: start + draw.seconds(0.5, 3))
    add(PlannedEvent(.kill, for: .seconds(1), at: .backend), at: start + draw.seconds(2, 5))
    for assistant in [phone + 1, phone] {
      add(PlannedEvent(.repeats, by: .seconds(60), on: assistant), at: start + draw.seconds(7, 20))
    }
  }

  /// Actions that correct clients perform rarely or never, and absences beyond the grace period.
  fileprivate static var odd: [Trouble<RelayEventKind>] {
    [
      Trouble { PlannedEvent(.asksMore, by: $0.one(.seconds(60), $0.seconds(0.01, 30))) },
      Trouble { PlannedEvent(.repeats, by: $0.one(.seconds(60), $0.seconds(0.01, 30))) },
      Trouble { _ in PlannedEvent(.logsOutAtOnce) },
      Trouble { _ in PlannedEvent(.triesOldPair) },
      Trouble { PlannedEvent(.pairsAgain, $0.one(1, 3, 9)) },
      Trouble { PlannedEvent(.guesses, $0.count(1...40)) },
      Trouble {
        $0.one(
          PlannedEvent(.suspend, for: $0.seconds(580, 1_500)),
          PlannedEvent(.unreachable, for: $0.seconds(580, 1_500))
        )
      },
    ]
  }

  /// The faults of relays, in addition to the common faults. Seeds depend on their order.
  fileprivate static var troubles: [Trouble<RelayEventKind>] {
    [
      Trouble { PlannedEvent(.stop, for: $0.seconds(0.1, 60)) },
      Trouble { PlannedEvent(.slowReading, for: $0.seconds(5, 200)) },
      Trouble { _ in PlannedEvent(.unsent) },
      Trouble { .store($0.one(.storeFull, .storeLocked, .storeSlow), $0.seconds(1, 100)) },
      Trouble { PlannedEvent(.kill, for: $0.seconds(0.5, 60), at: .backend) },
      Trouble { PlannedEvent(.strangeMessage, 0, $0.one("oversized", "malformed", "unknown")) },
      Trouble { PlannedEvent(.slowStore, by: $0.seconds(0.1, 4), for: $0.seconds(5, 100)) },
      Trouble { $0.one(PlannedEvent(.logsOut), PlannedEvent(.leaves)) },
      Trouble { PlannedEvent(.serverClock, by: $0.seconds(-120, 120)) },
    ]
  }
}

extension PlannedEvent<RelayEventKind> {
  /// Returns a fault of the backend's store.
  fileprivate static func store(_ eventKind: CommonEventKind, _ span: Duration) -> PlannedEvent {
    PlannedEvent(eventKind, for: span, at: .backend)
  }
}
