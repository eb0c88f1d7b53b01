package import HoldfastCore
package import HoldfastHealth
package import HoldfastRelayData
package import HoldfastRelayServer
import HoldfastServerFixtures
import Testing

/// Fixtures for the relay's tests.
package enum RelayStage {
  package static let dawn = Stage.dawn
  package static let window = Duration.seconds(5)

  package static func device(_ number: UInt64) -> UUID128 { UUID128(high: 0xD, low: number) }
  package static func phone(_ number: UInt64) -> PhoneID {
    PhoneID(UUID128(high: 0xF, low: number))
  }
  package static func pair(_ number: UInt64) -> RelayPair {
    RelayPair(code: String(String(1_000_000 + number).dropFirst()), word: "anchor")
  }

  package static func hash(_ text: String) -> TokenHash {
    let bytes = Array(text.utf8.prefix(32))
    guard let hash = TokenHash(bytes + [UInt8](repeating: 0, count: 32 - bytes.count)) else {
      preconditionFailure("it has 32 bytes")
    }
    return hash
  }

  package static func secret(_ text: String) -> RelaySecret {
    RelaySecret(text: text, hash: hash(text))
  }

  package static func request(_ text: String) -> RelayRequestID {
    guard let id = RelayRequestID(text) else { preconditionFailure("a request id is not empty") }
    return id
  }

  package static let summary = HealthQuestion.summary(
    SummaryQuery(
      start: .instant(dawn, minutesEast: nil),
      end: .instant(dawn.advanced(by: .seconds(86_400)), minutesEast: nil)))

  package static func question(_ day: Int = 1) -> HealthQuestion {
    let moment = { (day: Int) in
      HealthTime.instant(dawn.advanced(by: .seconds(86_400 * day)), minutesEast: nil)
    }
    return .healthData(
      HealthDataQuery(valueType: .steps, start: moment(day - 1), end: moment(day)))
  }

  package static func object(_ text: String, succeeded: Bool = true) -> HealthObject {
    let lists = #""health_data":[],"results":[]"#
    return HealthObject(
      succeeded: succeeded,
      bytes: Array(#"{"success":\#(succeeded),\#(lists),"x":"\#(text)"}"#.utf8))
  }

  package static func code(
    _ pair: RelayPair, expiresIn: Duration? = .seconds(600), token: String? = nil,
    resumed: Bool = false, parts: Bool = true, newAssistants: [PairedAssistants.Assistant] = []
  ) -> BackendMessage {
    .connectionCode(
      ConnectionCode(
        code: pair.code, word: pair.word,
        message: "Give this word and code to your assistant. They work once.",
        expiresIn: expiresIn, resumeToken: token, resumed: resumed, acceptsParts: parts,
        newAssistants: newAssistants))
  }

  /// The assistant with this token, which has signed in at dawn.
  package static func assistant(_ token: String) -> PairedAssistants.Assistant {
    PairedAssistants.Assistant(
      id: hash(token).shortName, name: nil, since: dawn, lastQuestion: nil,
      expiresAt: dawn.advanced(by: .seconds(7_200)))
  }
}

/// A test harness that drives a relay server at a settable time.
package struct Relayed {
  package typealias Effect = RelayServer.Effect

  package var server: RelayServer
  package private(set) var now = Instant.zero
  private var asks: UInt64 = 0
  private var pulls: UInt64 = 0
  private var drawn: UInt64 = 0

  package init(life: String = "a", _ change: (inout RelayServerPolicy) -> Void = { _ in }) {
    var policy = RelayServerPolicy()
    change(&policy)
    server = RelayServer(policy: policy, life: life, at: .zero)
  }

  /// Returns a relay to which phone 1 is connected.
  package static func withPhone(
    plain: Bool = false, _ change: (inout RelayServerPolicy) -> Void = { _ in }
  ) -> Relayed {
    var relay = Relayed(change)
    relay.phone(1, plain: plain)
    return relay
  }

  /// Returns a relay to which phone 1 is connected. The phone is paired with an assistant.
  package static func paired(
    plain: Bool = false, _ change: (inout RelayServerPolicy) -> Void = { _ in }
  ) -> Relayed {
    var relay = withPhone(plain: plain, change)
    relay.login(1)
    return relay
  }

  /// The invariants that are checked after each input.
  package var checks = InvariantCheck.Depth.thorough
  /// The offset by which the wall clock was adjusted.
  package var clock = Duration.zero
  package var wall: Timestamp {
    RelayStage.dawn.advanced(by: Instant.zero.duration(to: now) + clock)
  }

  package mutating func pass(_ time: Duration) { now = now.advanced(by: time) }

  /// Sets the time to `instant`, calls the server and returns the effects.
  package mutating func tick(at instant: Instant) -> [Effect] {
    now = instant
    return judged(server.tick(at: now))
  }

  package mutating func take(_ input: RelayServer.Input) -> [Effect] {
    judged(server.handle(input, at: now))
  }

  private mutating func judged(_ effects: [Effect]) -> [Effect] {
    #expect(server.brokenInvariants(checks) == [])
    return effects
  }

  /// Opens a phone's connection and returns the effects.
  package mutating func open(
    _ connection: UInt64, device: UInt64? = 1, resume: String? = nil, from: String = "home"
  ) -> [Effect] {
    take(
      .phoneOpened(
        ConnectionID(connection),
        RelayServer.Arrival(
          device: device.map(RelayStage.device), resume: resume.map(RelayStage.hash),
          address: from),
        wall: wall))
  }

  /// Connects the phone with the given number. Its resume token and its pair have the same number.
  @discardableResult
  package mutating func phone(_ number: UInt64, device: UInt64? = nil, plain: Bool = false)
    -> [Effect]
  {
    _ = open(number, device: plain ? nil : device ?? number)
    let effects = take(
      .tokenDrawn(
        .phone(
          ConnectionID(number), RelayStage.phone(number), RelayStage.secret("resume-\(number)"),
          RelayStage.pair(number))))
    return complete(effects)
  }

  /// Completes all store effects. Returns the other effects and the effects of the completion.
  package mutating func complete(_ effects: [Effect], failure: StoreFailure? = nil) -> [Effect] {
    effects.flatMap { effect -> [Effect] in
      guard case .store(let token, _) = effect else { return [effect] }
      return complete(take(.stored(token, failure: failure)), failure: failure)
    }
  }

  /// Logs in with the pair of the given phone. The default token is `token-` followed by its
  /// number.
  @discardableResult
  package mutating func login(_ number: UInt64, token: String? = nil) -> [Effect] {
    let (ask, effects) = ask(.login(word: "anchor", code: RelayStage.pair(number).code))
    guard effects.contains(.drawToken(.access(ask))) else { return effects }
    return complete(
      take(.tokenDrawn(.access(ask, RelayStage.secret(token ?? "token-\(number)")))))
  }

  package mutating func ask(
    _ what: RelayCall, bearer: String? = nil, from: String = "office"
  ) -> (RequestID, [Effect]) {
    asks += 1
    let id = RequestID(asks)
    let input = RelayServer.Input.call(
      id, what, bearer: bearer.map(RelayStage.hash), from: from, wall: wall)
    return (id, take(input))
  }

  /// Sends a question to phone 1 as a paired assistant.
  package mutating func question(_ day: Int = 1, bearer: String = "token-1") -> (
    RequestID, [Effect]
  ) {
    ask(.question(RelayStage.question(day)), bearer: bearer)
  }

  package mutating func pull(_ pull: RelayPull, as phone: UInt64 = 1) -> (RequestID, [Effect]) {
    pulls += 1
    let id = RequestID(pulls)
    let input = RelayServer.Input.pull(
      id, pull, bearer: RelayStage.hash("resume-\(phone)"), wall: wall)
    return (id, take(input))
  }

  package mutating func said(_ connection: UInt64, _ message: PhoneMessage) -> [Effect] {
    take(.phoneSaid(ConnectionID(connection), message))
  }

  package mutating func gone(_ connection: UInt64, code: UInt16 = 1006) -> [Effect] {
    take(.phoneGone(ConnectionID(connection), code: code, wall: wall))
  }
}

extension [RelayServer.Effect] {
  /// The effects other than store effects.
  package var unstored: Self {
    filter {
      if case .store = $0 { false } else { true }
    }
  }

  /// The changes of all store effects.
  package var changes: [RelayChange] {
    flatMap {
      if case .store(_, let changes) = $0 { changes } else { [RelayChange]() }
    }
  }
}
