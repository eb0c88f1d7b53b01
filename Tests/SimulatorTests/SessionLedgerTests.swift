import HoldfastCore
import HoldfastServerParts
import HoldfastSessionData
import HoldfastSessionServer
import HoldfastWorlds
import Testing

@testable import HoldfastLinkChecks
@testable import HoldfastSessionChecks
@testable import HoldfastSessionWorld
@testable import HoldfastWorldKernel

/// Tests of the ledger of a session server for findings that no deliberate defect causes.
@Suite struct SessionLedgerTests {
  typealias Change = @Sendable (SessionServer.Effect) -> [SessionServer.Effect]

  /// The faults of a server, with the finding that each fault causes.
  private static let faults: [(name: String, kind: Finding.Kind, change: Change)] = [
    ("two heartbeats", .untimely, said { if case .heartbeat = $0 { [$0, $0] } else { [$0] } }),
    ("no ping", .untimely, { if case .ping = $0 { [] } else { [$0] } }),
    ("two pings", .untimely, { if case .ping = $0 { [$0, $0] } else { [$0] } }),
    ("no close", .untimely, { if case .close = $0 { [] } else { [$0] } }),
    ("no pong", .untrue, said { $0 == .pong ? [] : [$0] }),
    ("two pongs", .untrue, said { $0 == .pong ? [$0, $0] : [$0] }),
    ("no ack", .untrue, said { if case .ack = $0 { [] } else { [$0] } }),
    (
      "another ack", .untrue,
      said { message in
        if case .ack = message { [.ack(message: "", idempotencyKey: "other")] } else { [message] }
      }
    ),
    (
      "another part", .untrue,
      said { message in
        guard case .responsePart(let id, let key, let index, let text) = message else {
          return [message]
        }
        return [.responsePart(conversation: id, idempotencyKey: key, index: index + 1, text: text)]
      }
    ),
    (
      "two cancellations", .untrue,
      said { message in
        if case .sessionKilled = message { [message, message] } else { [message] }
      }
    ),
    ("a hole", .untrue, said { changed($0) { $0.entries.removeFirst() } }),
    ("another text", .untrue, said { changed($0) { $0.entries[0].text = "other" } }),
    ("another end", .untrue, said { changed($0) { $0.isComplete.toggle() } }),
    (
      "another place", .untrue,
      said { message in
        changed(message) { $0.extent = .offset(next: 9, signature: "x", isReplaced: false) }
      }
    ),
    (
      "an unheard answer", .untrue,
      stored { change in
        if case .answered(let id, var answer) = change {
          answer.result = .success(text: "other")
          return [.answered(id, answer)]
        }
        return [change]
      }
    ),
    ("no entry", .untrue, stored { if case .entry = $0 { [] } else { [$0] } }),
    (
      "forgotten", .untrue,
      stored { change in
        if case .answered(let id, _) = change { [change, .endPrompt(id)] } else { [change] }
      }
    ),
    (
      "pruned", .untrue,
      stored { change in
        if case .entry(let entry) = change {
          [change, .prune(entry.conversation, below: 2)]
        } else {
          [change]
        }
      }
    ),
  ]

  @Test func `finds each fault of a server`() {
    #expect(LedgerScript.findings { [$0] } == [])
    for fault in Self.faults {
      let found = LedgerScript.findings(fault.change)
      #expect(found.contains { $0.kind == fault.kind }, "\(fault.name): \(found)")
    }
  }

  private static func said(
    _ change: @escaping @Sendable (SessionServerMessage) -> [SessionServerMessage]
  ) -> Change {
    { effect in
      guard case .send(let id, let message) = effect else { return [effect] }
      return change(message).map { .send(id, $0) }
    }
  }

  private static func stored(
    _ change: @escaping @Sendable (SessionChange) -> [SessionChange]
  ) -> Change {
    { effect in
      guard case .store(let token, let changes) = effect else { return [effect] }
      return [.store(token, changes.flatMap(change))]
    }
  }

  /// Returns a message whose history is changed if it has several entries.
  private static func changed(
    _ message: SessionServerMessage, _ change: (inout SessionHistory) -> Void
  ) -> [SessionServerMessage] {
    guard case .history(var window) = message, window.entries.count > 1 else { return [message] }
    change(&window)
    return [.history(window)]
  }
}

/// A scripted exchange between one client and a server. The ledger records the exchange.
private struct LedgerScript {
  struct Found: Equatable {
    var kind: Finding.Kind
    var detail: String
  }

  private static let conversation = SessionsFeature.shared
  private static let wall = Timestamp(nanoseconds: 1_000_000_000_000)
  private static let line = ConnectionID(1)

  private var server: SessionServer
  private var ledger: SessionLedger
  private var durable = StoredSessions()
  private var now = Instant.zero
  private var writes: [StoreToken] = []
  private var messages: [String] = []
  private let change: SessionLedgerTests.Change

  private init(_ change: @escaping SessionLedgerTests.Change) {
    let policy = SessionServerPolicy()
    server = SessionServer(policy: policy, seed: 1, at: .zero)
    ledger = SessionLedger(policy)
    self.change = change
  }

  /// Runs the script with altered effects. Returns the findings.
  static func findings(_ change: @escaping SessionLedgerTests.Change) -> [Found] {
    var script = LedgerScript(change)
    script.play()
    return script.ledger.takeFindings().map { Found(kind: $0.kind, detail: $0.detail) }
  }

  private var clock: Timestamp { Self.wall.advanced(by: Instant.zero.duration(to: now)) }

  private mutating func play() {
    give(.restored(durable, wall: clock))
    give(.opened(Self.line, .init(address: "a", challenge: "c"), wall: clock))
    let connect = SessionConnect(session: "s", features: [.parts, .idempotency])
    say(.connect(connect), proof: .key)
    say(.ping)
    ask("one", 1)
    give(.produced(SessionPromptID(1), "o"))
    end(1, .success(text: "one"))
    say(
      .subscribe(
        SessionSubscription(
          conversation: Self.conversation, cursor: .offset(0, signature: nil))))
    ask("two", 2)
    say(.killSession(conversation: Self.conversation))
    end(2, .failure(error: "killed"))
    say(.connect(connect))
    for message in messages { say(.messageAck(message)) }
    pass(.seconds(100))
    give(.received(Self.line))
    // This is a second client, which sends nothing.
    give(.opened(ConnectionID(2), .init(address: "a", challenge: "d"), wall: clock))
    pass(.seconds(31))
    give(.gone(ConnectionID(2), wall: clock))
    give(.gone(Self.line, wall: clock))
  }

  private mutating func ask(_ text: String, _ number: UInt64) {
    say(
      .prompt(
        SessionPrompt(
          text: text, conversation: Self.conversation, isNew: true,
          idempotencyKey: UUID128(high: 7, low: number).description, number: number)))
  }

  private mutating func say(_ message: SessionClientMessage, proof: SessionServer.Proof = .none) {
    give(.received(Self.line))
    give(.said(Self.line, message, proof: proof, wall: clock))
  }

  private mutating func end(_ id: UInt64, _ result: SessionResponse.Result) {
    give(.ended(SessionPromptID(id), result, wall: clock))
  }

  /// Advances the clock. The server receives data from the client every 20 s.
  private mutating func pass(_ time: Duration) {
    let end = now.advanced(by: time)
    var lastReceived = now
    while let due = server.deadline, due <= end {
      if lastReceived.advanced(by: .seconds(20)) <= due {
        lastReceived = lastReceived.advanced(by: .seconds(20))
        now = lastReceived
        give(.received(Self.line))
        continue
      }
      now = max(now, due)
      ledger.pass(to: now)
      follow(server.tick(at: now))
    }
    now = end
    ledger.pass(to: now)
  }

  private mutating func give(_ input: SessionServer.Input) {
    ledger.received(input, at: now)
    follow(server.handle(input, at: now))
  }

  private mutating func follow(_ effects: [SessionServer.Effect]) {
    for effect in effects.flatMap(change) {
      ledger.requested(effect, durable)
      switch effect {
      case .store(let token, let changes):
        for change in changes { durable.apply(change) }
        writes.append(token)
      case .send(_, .response(let response)): messages += [response.id].compactMap(\.self)
      case .accept, .refuse, .send, .noticeDrain, .ping, .close, .drop, .run, .cancel, .finished:
        continue
      }
    }
    ledger.finishStep()
    while !writes.isEmpty { give(.stored(writes.removeFirst(), failure: nil, wall: clock)) }
  }
}
