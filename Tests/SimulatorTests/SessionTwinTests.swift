import LinkCore
import LinkServerCore
import LinkWire
import Session
import Testing

@testable import LinkSimulator

/// The second accounts of sessions: each of them can find a fault.
@Suite struct SessionTwinTests {
  @Test func `bytes that are not those of a message are found`() {
    let ping = SessionClientMessage.ping
    #expect(SessionWire.stray(ping.bytes, of: ping) == nil)
    #expect(SessionWire.stray(Array(#"{"type": "ping"}"#.utf8), of: ping) != nil)
    let pong = SessionServerMessage.pong
    #expect(SessionWire.stray(pong.bytes, of: pong) == nil)
    #expect(SessionWire.stray(ping.bytes, of: pong) != nil)
  }

  @Test func `a message that is read as another one is found`() {
    typealias Outcome = SessionWire.Outcome<SessionClientMessage>
    let bytes = SessionClientMessage.messageAck("a").bytes
    #expect(SessionWire.strayOfServer(reading: bytes) == nil)
    let must = Outcome.message(.messageAck("a"))
    #expect(must.stray(from: must, bytes) == nil)
    #expect(Outcome.message(.messageAck("b")).stray(from: must, bytes) != nil)
    #expect(Outcome.missing("message_id").stray(from: must, bytes) != nil)
    #expect(Outcome.missing("type").stray(from: .missing("message_id"), bytes) != nil)
  }

  @Test func `the longest message of a server is read, and a longer one is not`() throws {
    let start = #"{"type":"pong","odd":""#
    let count = 4_194_304 - start.utf8.count - 2
    let bytes = Array((start + String(repeating: "a", count: count) + "\"}").utf8)
    #expect(SessionWire.strayOfClient(reading: bytes) == nil)
    #expect(try SessionReading.server(bytes) == .pong)
    #expect(SessionWire.strayOfClient(reading: bytes + [0x20]) == nil)
    #expect(throws: SessionMembers.Fault(field: nil)) {
      try SessionReading.server(bytes + [0x20])
    }
  }

  @Test func `versions are negotiated as documents say`() {
    #expect(SessionWire.spoken("0.3.9") == nil)
    #expect(SessionWire.spoken("odd") == SessionVersion(0, 4, 0))
    #expect(SessionWire.spoken("7.0.0") == SessionVersion(0, 5, 0))
  }

  @Test func `a phone that asks for less than it must is found`() {
    let model = SessionModel(SessionSettings(policy: .session), seed: 7)
    let snapshot = ClientSessionSnapshot(client: UUID128(high: 1, low: 2))
    let input = SessionModel.Input.restored(
      snapshot, conversation: "a", at: Timestamp(nanoseconds: 0))
    var other = model
    let effects = other.handle(input, at: .zero)
    #expect(effects.count == 1)
    var twin = SessionPhoneTwin(.session, seed: 7)
    #expect(twin.stray(of: other, after: input, effects, at: .zero) == nil)
    twin = SessionPhoneTwin(.session, seed: 7)
    #expect(twin.stray(of: other, after: input, [], at: .zero) != nil)
    twin = SessionPhoneTwin(.session, seed: 7)
    #expect(twin.stray(of: model, after: input, effects, at: .zero) != nil)
  }

  @Test(arguments: 1...40 as ClosedRange<UInt64>)
  func `a phone to which anything is said does what it must`(seed: UInt64) {
    var walk = SessionPhoneWalk(Chance(seed: seed))
    #expect(walk.walk(400) == nil)
  }

  @Test(arguments: 1...20 as ClosedRange<UInt64>)
  func `messages in all forms are written and read as they must be`(seed: UInt64) {
    var walk = SessionWireWalk(Chance(seed: seed))
    #expect(walk.walk(20) == nil)
  }

  @Test(arguments: 1...60 as ClosedRange<UInt64>)
  func `a server to which anything is said does what it must`(seed: UInt64) {
    var walk = SessionServerWalk(Chance(seed: seed))
    #expect(walk.walk(500) == nil)
  }

  @Test func `a walk finds a message that is written as another one`() throws {
    let (ping, pong) = (SessionClientMessage.ping, SessionServerMessage.pong)
    func finding(_ act: (inout SessionWireWalk) -> Void) throws -> String? {
      try SessionWireWalk.finding(act)
    }
    #expect(try finding { $0.tryBytes(ping.bytes, of: ping) } == nil)
    #expect(try finding { $0.tryBytes(pong.bytes, of: pong) } == nil)
    let asked = try finding { $0.tryBytes(pong.bytes, of: ping) }
    #expect(asked == #"{"type":"ping"} is written as {"type":"pong"}"#)
    let said = try finding { $0.tryBytes(ping.bytes, of: pong) }
    #expect(said == #"{"type":"pong"} is written as {"type":"ping"}"#)
  }

  @Test func `a walk finds a phone or a disk that does something else`() throws {
    let snapshot = ClientSessionSnapshot(client: UUID128(high: 1, low: 2))
    let input = SessionModel.Input.restored(
      snapshot, conversation: "a", at: Timestamp(nanoseconds: 0))
    #expect(try SessionPhoneWalk.finding { $0.give(input) } == nil)
    let phone = try SessionPhoneWalk.finding { walk in
      _ = walk.model.handle(input, at: .zero)
      walk.give(nil)
    }
    #expect(phone?.hasPrefix("the phone ") == true)
    var change = ClientSessionChange()
    change.news = [
      .message(
        SessionEntry(id: "m", role: .assistant, text: "re", conversation: "a"), via: .live)
    ]
    let disk = try SessionPhoneWalk.finding { walk in
      _ = walk.disk.commit(change)
      walk.stray = walk.walk(0)
    }
    #expect(disk?.hasPrefix("the disk gives back ") == true)
  }

  @Test func `a walk finds a server that waits, counts or keeps otherwise`() throws {
    let input = SessionServer.Input.opened(
      ConnectionID(1), SessionServer.Arrival(address: "a", challenge: "c"),
      wall: Timestamp(nanoseconds: 0))
    #expect(try SessionServerWalk.finding { $0.give(input) } == nil)
    let late = try SessionServerWalk.finding { walk in
      _ = walk.server.handle(input, at: .zero)
      walk.give(nil)
    }
    #expect(late?.contains(" waits until ") == true)
    let miscounted = try SessionServerWalk.finding { walk in
      _ = walk.server.handle(input, at: .zero)
      walk.compareCounts()
    }
    #expect(miscounted?.hasSuffix(" is 1, not 0") == true)
    let kept = try SessionServerWalk.finding { walk in
      walk.keep([.endClient("a")])
      #expect(walk.stray == nil)
      walk.kept.apply(.conversation("a", signature: "1:m"))
      walk.keep([.endClient("a")])
    }
    #expect(kept?.hasPrefix("the store of the server differs after ") == true)
  }

  @Test func `a server that asks for more or less than it must is found`() {
    let numbers = SessionHouse.Numbers(SessionsFeature.Numbers())
    let arrival = SessionServer.Arrival(address: "a", challenge: "c")
    let input = SessionServer.Input.opened(
      ConnectionID(1), arrival, wall: Timestamp(nanoseconds: 0))
    var policy = SessionServerPolicy()
    (policy.entriesPerConversation, policy.answersPerClient) = (1_000, 1_000)
    var server = SessionServer(policy: policy, seed: 7, at: .zero)
    let effects = server.handle(input, at: .zero)
    var twin = SessionHouse(numbers, seed: 7, at: .zero)
    #expect(twin.stray(of: server, after: input, effects, at: .zero) == nil)
    twin = SessionHouse(numbers, seed: 7, at: .zero)
    #expect(twin.stray(of: server, after: input, effects.dropLast(), at: .zero) != nil)
    policy.connectWait = .seconds(29)
    server = SessionServer(policy: policy, seed: 7, at: .zero)
    let early = server.handle(input, at: .zero)
    twin = SessionHouse(numbers, seed: 7, at: .zero)
    #expect(twin.stray(of: server, after: input, early, at: .zero) != nil)
  }

  @Test func `stores that keep something else are found`() {
    var (disk, shelf) = (KeptSession(), SessionShelf())
    var change = ClientSessionChange()
    change.news = [
      .message(
        SessionEntry(id: "m", role: .assistant, text: "re", conversation: "a"), via: .live)
    ]
    #expect(shelf.commit(change).map(\.number) == [1])
    #expect(shelf.difference(from: disk) != nil)
    #expect(disk.commit(change).count == 1)
    #expect(shelf.difference(from: disk) == nil)
    var (kept, cellar) = (SessionKept(), SessionCellar())
    let began = SessionChange.conversation("a", signature: "1:m")
    #expect(cellar.stray(began, kept) != nil)
    kept.apply(began)
    #expect(cellar.stray(began, kept) == nil)
  }
}
