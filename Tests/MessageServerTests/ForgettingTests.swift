import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests that the texts of edited and deleted messages leave the store's files within 5 s.
struct ForgettingTests {
  private static let id = UUID128(high: 5, low: 5)

  /// Returns a server with one open socket and the head 1.
  private static func served() -> Served {
    var served = Served()
    served.open(1, head: 1)
    return served
  }

  private static func delete(at offset: UInt64, in served: inout Served, isNew: Bool = true) throws
  {
    let append = try served.change(.delete(id))
    let deletion = ShopDeletion(
      id: id, shop: Stage.shop, position: Stage.position(1), changed: Stage.position(offset))
    _ = served.take(.stored(append.token, .appended(.deleted(deletion, isNew: isNew))))
  }

  @Test func `the store forgets 3 s after the first deletion since it last forgot`() throws {
    var served = Self.served()
    try Self.delete(at: 2, in: &served)
    #expect(served.server.deadline == .second(3))
    #expect(served.tick(at: .second(1)) == [])
    try Self.delete(at: 3, in: &served)
    #expect(served.tick(at: .second(2.999)) == [])
    let tokens = Self.begun(served.tick(at: .second(3)))
    #expect(tokens.count == 2)
    for token in tokens.values { #expect(served.take(.stored(token, .forgotten)) == []) }
    #expect(served.server.deadline == .second(54))
    try Self.delete(at: 4, in: &served)
    #expect(served.server.deadline == .second(6))
  }

  @Test func `an edit is forgotten as well, and a repeated deletion and a post change nothing`()
    throws
  {
    var served = Self.served()
    _ = served.store(try served.post("x"), at: 2)
    try Self.delete(at: 2, in: &served, isNew: false)
    #expect(served.server.deadline == .second(54))
    let append = try served.change(.edit(Revision(id: Self.id, text: "new")))
    let message = ShopMessage(
      id: Self.id, shop: Stage.shop, user: "ann", username: "ANN", text: "new",
      createdAt: Stage.dawn, isEdited: true, position: Stage.position(1),
      changed: Stage.position(3))
    _ = served.take(.stored(append.token, .appended(.edited(message, isNew: true))))
    #expect(served.server.deadline == .second(3))
  }

  /// Returns the removals that effects begin. Those of texts are the first.
  private static func begun(_ effects: [ShopServer.Effect]) -> [MessageTrace: StoreToken] {
    var tokens: [MessageTrace: StoreToken] = [:]
    for effect in effects {
      guard case .forget(let token, let trace) = effect else { continue }
      #expect(trace == .images || tokens.isEmpty)
      tokens[trace] = token
    }
    return tokens
  }

  private static let failed = ShopServer.StoreAnswer.failed(.locked(detail: ""))

  @Test(arguments: [MessageTrace.texts, .images])
  func `a removal that fails is repeated alone, each time after twice the time`(
    _ trace: MessageTrace
  ) throws {
    var served = Self.served()
    try Self.delete(at: 2, in: &served)
    // Without a socket, there are no other alarms.
    _ = served.take(.gone(ConnectionID(1), code: 1000))
    var tokens = Self.begun(served.tick(at: .second(3)))
    for (other, token) in tokens where other != trace {
      _ = served.take(.stored(token, .forgotten))
    }
    var now = Instant.second(3)
    for wait in [0.5, 1, 2, 4, 8, 16, 32, 60, 60] {
      let token = try #require(tokens[trace])
      #expect(served.take(.stored(token, Self.failed)) == [])
      let due = now.advanced(by: .seconds(wait))
      let early = served.tick(at: due.advanced(by: .zero - .nanoseconds(1)))
      #expect(Self.begun(early) == [:])
      tokens = Self.begun(served.tick(at: due))
      #expect(Array(tokens.keys) == [trace])
      now = due
    }
    _ = served.take(.stored(try #require(tokens[trace]), .forgotten))
    try Self.delete(at: 3, in: &served)
    tokens = Self.begun(served.tick(at: now.advanced(by: .seconds(3))))
    #expect(tokens.count == 2)
    _ = served.take(.stored(try #require(tokens[trace]), Self.failed))
    #expect(served.server.deadline == now.advanced(by: .seconds(3.5)))
  }

  @Test func `a change is forgotten in time although the last removal failed often`() throws {
    var served = Self.served()
    try Self.delete(at: 2, in: &served)
    var now = Instant.second(3)
    for wait in [0.5, 1, 2, 4, 8] {
      let token = try #require(Self.begun(served.tick(at: now))[.texts])
      _ = served.take(.stored(token, Self.failed))
      now = now.advanced(by: .seconds(wait))
    }
    let then = now.advanced(by: .seconds(-5))
    #expect(Self.begun(served.tick(at: then)) == [:])
    try Self.delete(at: 3, in: &served)
    let due = then.advanced(by: .seconds(3))
    #expect(served.server.deadline == due)
    #expect(Self.begun(served.tick(at: due))[.texts] != nil)
  }

  @Test func `a removal shows that the store works again if it began after the failure`() throws {
    let failing = ServiceHealth.failing(reason: "the disk of the store is full")
    var served = Self.served()
    try Self.delete(at: 2, in: &served)
    let early = try #require(Self.begun(served.tick(at: .second(3)))[.texts])
    let (lost, _) = try served.post("lost")
    _ = served.take(.stored(lost, .failed(.full(detail: ""))))
    #expect(served.server.serviceHealth == failing)
    _ = served.take(.stored(early, .forgotten))
    #expect(served.server.serviceHealth == failing)
    let late = try #require(Self.begun(served.tick(at: .second(3.5)))[.texts])
    _ = served.take(.stored(late, .forgotten))
    #expect(served.server.serviceHealth == .ok)
  }

  @Test func `a removal that is under way is not begun again`() throws {
    var served = Self.served()
    try Self.delete(at: 2, in: &served)
    let tokens = Self.begun(served.tick(at: .second(3)))
    try Self.delete(at: 3, in: &served)
    #expect(served.server.deadline == .second(54))
    #expect(Self.begun(served.tick(at: .second(7))) == [:])
    for token in tokens.values { _ = served.take(.stored(token, .forgotten)) }
    #expect(served.server.deadline == .second(6))
    #expect(Self.begun(served.tick(at: .second(8))).count == 2)
  }

  @Test func `a server that has stopped asks no more`() throws {
    var served = Self.served()
    try Self.delete(at: 2, in: &served)
    _ = served.take(.gone(ConnectionID(1), code: 1000))
    #expect(served.take(.drain(within: .seconds(5))) == [.finished])
    #expect(served.server.deadline == nil)
    #expect(served.tick(at: .second(3)) == [])
  }
}
