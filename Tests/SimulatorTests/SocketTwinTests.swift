import HeldSocket
import LinkCore
import Testing

@testable import LinkSimulator

/// The second account of what a held socket does.
@Suite struct SocketTwinTests {
  private let attempt = AttemptID(1)

  private func started(_ outbox: SocketSettings.Outbox) -> SocketTwin {
    var settings = SocketSettings(policy: .socket)
    settings.outbox = outbox
    var twin = SocketTwin(settings, seed: 1)
    _ = twin.step(.start, at: .zero)
    return twin
  }

  private func connected(_ outbox: SocketSettings.Outbox) -> SocketTwin {
    var twin = started(outbox)
    _ = twin.step(.socket(attempt, .opened(subprotocol: nil)), at: .zero)
    return twin
  }

  @Test func `the account greets, and resumes behind the position`() {
    var settings = SocketSettings(policy: .socket)
    settings.position = Secret("7")
    var twin = SocketTwin(settings, seed: 1)
    let connecting = LinkStatus(phase: .connecting, attempt: 1)
    #expect(
      twin.step(.start, at: .zero) == [.open(attempt), .update(.status(connecting))])
    let up = LinkStatus(phase: .connected, mode: .live, quality: .good)
    let must: [SocketModel.Effect] = [
      .greet(attempt, subprotocol: "chat", after: Secret("7")),
      .resume(attempt, after: Secret("7")), .update(.status(up)),
    ]
    #expect(twin.step(.socket(attempt, .opened(subprotocol: "chat")), at: .zero) == must)
  }

  @Test func `the account has a pong prove what was sent`() {
    var twin = connected(.durable)
    let entry = ProvenQueue.Entry(id: 1, message: .text("a"))
    #expect(twin.step(.send(.text("a")), at: .zero) == [.store(entry)])
    let must: [SocketModel.Effect] = [
      .send(attempt, .text("a")), .ping(attempt, 4_294_967_297), .update(.sent(1)),
    ]
    #expect(twin.step(.stored(1), at: .zero) == must)
    #expect(twin.step(.link(.pong(attempt, 4_294_967_297)), at: .second(1)) == [.remove([1])])
    #expect(twin.box.letters.isEmpty)
  }

  @Test(arguments: [(SocketSettings.Outbox.off, false), (.waiting, false), (.memory, true)])
  func `the account says what a loss leaves unproven`(
    outbox: SocketSettings.Outbox, isRepeated: Bool
  ) {
    var twin = connected(outbox)
    _ = twin.step(.send(.text("a")), at: .zero)
    let told = twin.step(.link(.lost(attempt, .reset)), at: .second(1))
    #expect(told.first == .update(.notice(.unproven(count: 1, isRepeated: isRepeated))))
    #expect(twin.box.letters.count == (isRepeated ? 1 : 0))
  }

  @Test func `the account lets 64 messages and 256 KiB be on their way`() {
    var box = SocketBox()
    for _ in 1...70 { _ = box.add(.text("a"), isStored: true) }
    #expect(box.hand().count == 64)
    #expect(box.hand().isEmpty)
    var other = SocketBox()
    for count in [262_143, 1, 1] {
      _ = other.add(SocketMessage(binary: [UInt8](repeating: 0, count: count)), isStored: true)
    }
    #expect(other.hand().count == 2)
    #expect(other.interrupt(keeps: true) == 2)
    #expect(other.bytes == 262_145)
  }

  @Test func `the account refuses what is too long or too much`() {
    var twin = started(.waiting)
    let long = SocketMessage(binary: [UInt8](repeating: 0, count: 1_000_001))
    let refusal = SocketModel.Effect.update(.notice(.refused(.tooLong(bytes: 1_000_001))))
    #expect(twin.step(.send(long), at: .zero) == [refusal])
    for _ in 1...1_000 { _ = twin.box.add(.text("a"), isStored: true) }
    let full = SocketModel.Effect.update(.notice(.refused(.full)))
    #expect(twin.step(.send(.text("a")), at: .zero) == [full])
  }

  @Test func `the account stops after two seconds`() {
    var twin = connected(.memory)
    _ = twin.step(.send(.text("a")), at: .zero)
    #expect(twin.step(.stop, at: .second(1)) == [])
    #expect(twin.deadline == .second(3))
    let told = twin.step(nil, at: .second(3))
    #expect(told.contains(.update(.notice(.unsent(count: 1)))))
  }

  @Test(arguments: 1...30 as ClosedRange<UInt64>)
  func `a held socket to which anything is said does what it must`(seed: UInt64) {
    var walk = SocketWalk(Chance(seed: seed))
    #expect(walk.walk(300) == nil)
  }

  @Test func `a walk of a held socket returns the first difference`() throws {
    let stray = try SocketWalk.finding { walk in
      walk.twin.sent = 1
      walk.stray = walk.walk(1)
    }
    #expect(stray == "the socket counts 0 messages, not 1")
  }
}
