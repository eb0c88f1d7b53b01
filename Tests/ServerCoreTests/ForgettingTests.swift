import HoldfastCore
import HoldfastServerCore
import HoldfastStorage
import HoldfastWire
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
    guard case .forget(let token) = served.tick(at: .second(3)).first else {
      Issue.record("the store was not asked")
      return
    }
    #expect(served.take(.stored(token, .forgotten)) == [])
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

  @Test func `a failure is repeated after half a second`() throws {
    var served = Self.served()
    try Self.delete(at: 2, in: &served)
    guard case .forget(let token) = served.tick(at: .second(3)).first else { return }
    #expect(served.take(.stored(token, .failed(.locked(detail: "")))) == [])
    let again = Instant.second(3).advanced(by: .milliseconds(500))
    #expect(served.server.deadline == again)
    #expect(served.tick(at: again).count == 1)
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
