import HoldfastCore
import HoldfastIdentity
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import HoldfastServerParts
import Testing

/// Tests of edits and deletions, from the request to the answer and the frames.
struct ChangeTests {
  private static let id = UUID128(high: 5, low: 5)
  private static let key = UUID128(high: 6, low: 6)
  private static let edit = Call.edit(Revision(id: id, text: "new", key: key))
  private static let delete = Call.delete(id)
  private static let deletion = ShopDeletion(
    id: id, shop: Stage.shop, position: Stage.position(2), changed: Stage.position(4))

  private static func edited(_ text: String = "new", at offset: UInt64 = 4) -> ShopMessage {
    ShopMessage(
      id: id, shop: Stage.shop, user: "ann", username: "ANN", text: text, createdAt: Stage.dawn,
      updatedAt: Stage.dawn, isEdited: true, position: Stage.position(2),
      changed: Stage.position(offset))
  }

  /// Returns a server with a plain socket 1 and a socket 2 that receives events, at head 3.
  private static func served(_ change: (inout ShopServerPolicy) -> Void = { _ in }) -> Served {
    var served = Served(change)
    served.open(1, head: 3)
    _ = served.upgrade(2, as: Stage.token("bob"), events: true)
    return served
  }

  @Test func `an edit waits for its shop, then for the store, and is sent where events are`() throws
  {
    var served = Self.served()
    #expect(served.ask(Self.edit) == [.shop(StoreToken(2), Self.id)])
    let change = LogRequest.edit(
      LogEdit(
        id: Self.id, shop: Stage.shop, text: "new", at: Stage.dawn,
        by: LogActor(user: "ann", isAdmin: false), key: Self.key))
    let stored = served.take(.stored(StoreToken(2), .shop(Stage.shop)))
    #expect(stored.count == 1)
    #expect(stored.flatMap(\.appends).map(\.change) == [change])
    let outcome = LogOutcome.edited(Self.edited(), isNew: true)
    #expect(
      served.take(.stored(StoreToken(3), .appended(outcome))) == [
        .answer(
          RequestID(1), Answer(200, .message(Self.edited(), note: "Message updated successfully"))),
        .send(.edited(Self.edited()), to: [ConnectionID(2)]),
      ])
  }

  @Test func `a deletion is answered with its tombstone and sent where events are`() throws {
    var served = Self.served()
    let append = try served.change(Self.delete)
    let actor = LogActor(user: "ann", isAdmin: false)
    #expect(append.change == .delete(LogDeletion(id: Self.id, shop: Stage.shop, by: actor)))
    let outcome = LogOutcome.deleted(Self.deletion, isNew: true)
    let note = "Message deleted successfully"
    #expect(
      served.take(.stored(append.token, .appended(outcome))) == [
        .answer(RequestID(1), Answer(200, .deletion(Self.deletion, note: note))),
        .send(.deleted(Self.deletion), to: [ConnectionID(2)]),
      ])
  }

  @Test(arguments: [false, true]) func `the store learns whether a user is an admin of the shop`(
    isAdmin: Bool
  ) throws {
    var served = Self.served()
    var claims = Stage.claims("mod", shops: [Stage.shop, Stage.other])
    claims.admin = [isAdmin ? Stage.shop : Stage.other]
    let append = try served.change(Self.delete, as: .valid(claims))
    let actor = LogActor(user: "mod", isAdmin: isAdmin)
    #expect(append.change == .delete(LogDeletion(id: Self.id, shop: Stage.shop, by: actor)))
  }

  @Test(arguments: [
    (LogOutcome.edited(edited(at: 3), isNew: false), edit),
    (.deleted(deletion3, isNew: false), delete),
  ])
  func `a repeated change is answered and sent to nobody`(outcome: LogOutcome, call: Call) throws {
    var served = Self.served()
    let append = try served.change(call)
    let effects = served.take(.stored(append.token, .appended(outcome)))
    #expect(effects.count == 1)
    #expect(effects.first?.status == 200)
  }

  private static let deletion3 = ShopDeletion(
    id: id, shop: Stage.shop, position: Stage.position(2), changed: Stage.position(3))

  @Test(arguments: [
    (edit, LogRefusal.unknown, 404), (edit, .deleted, 404), (edit, .notTheAuthor, 403),
    (edit, .tooLate, 403), (edit, .keyUsedForAnother, 409), (delete, .unknown, 404),
    (delete, .notTheAuthor, 403),
  ])
  func `a change that the log refuses is answered and sent to nobody`(
    call: Call, refusal: LogRefusal, status: Int
  ) throws {
    var served = Self.served()
    let append = try served.change(call)
    let effects = served.take(.stored(append.token, .appended(.refused(refusal))))
    #expect(effects.map(\.status) == [status])
    #expect(try served.change(Self.edit).token.number > append.token.number)
  }

  @Test(arguments: [Stage.shop, Stage.other], [false, true])
  func `a change that names another shop than the message's changes nothing`(
    shop: ShopID, isDeletion: Bool
  ) {
    var served = Self.served()
    let revision = Revision(id: Self.id, text: "new", shop: shop)
    _ = served.ask(isDeletion ? .delete(Self.id, shop: shop) : .edit(revision))
    let effects = served.take(.stored(StoreToken(2), .shop(Stage.shop)))
    if shop == Stage.shop {
      #expect(effects.flatMap(\.appends).count == 1)
    } else {
      #expect(effects == [.answer(RequestID(1), .error(404, "no such message"))])
    }
  }

  @Test func `a post whose message was deleted is answered with 410`() throws {
    var served = Self.served()
    let (token, _) = try served.post("again", key: Self.key)
    #expect(
      served.take(.stored(token, .appended(.refused(.deleted)))) == [
        .answer(RequestID(1), .error(410, "the message was deleted"))
      ])
  }

  @Test func `a repeated post of an edited message is answered with its present form`() throws {
    var served = Self.served()
    let (token, _) = try served.post("old", key: Self.key)
    var plain = Self.edited(at: 3)
    plain.changed = nil
    #expect(
      served.take(.stored(token, .appended(.posted(Self.edited(at: 3), isNew: false)))) == [
        .answer(RequestID(1), Answer(200, .message(plain, note: "Message already created")))
      ])
  }

  @Test func `a user who is not a member changes nothing, and an unknown id is not found`() {
    for call in [Self.edit, Self.delete] {
      var served = Served()
      let found = served.ask(call, as: Stage.token(shops: [Stage.other]))
      #expect(found == [.shop(StoreToken(1), Self.id)])
      #expect(
        served.take(.stored(StoreToken(1), .shop(Stage.shop))) == [
          .answer(RequestID(1), Stage.notAMember)
        ])
      _ = served.ask(call)
      #expect(
        served.take(.stored(StoreToken(2), .shop(nil))) == [
          .answer(RequestID(2), .error(404, "no such message"))
        ])
    }
  }

  @Test func `a user who was removed while the shop was looked up changes nothing`() {
    var served = Self.served()
    _ = served.ask(Self.edit)
    _ = served.take(.removed(Membership(shop: Stage.shop, user: "ann")))
    #expect(
      served.take(.stored(StoreToken(2), .shop(Stage.shop))) == [
        .answer(RequestID(1), Stage.notAMember)
      ])
  }

  @Test func `needs a valid token, counts toward the rate, and is refused during a drain`() {
    for call in [Self.edit, Self.delete] {
      var served = Self.served { $0.postBurst = 1 }
      #expect(served.ask(call, as: .missing) == [.answer(RequestID(1), .error(401, "no token"))])
      #expect(served.ask(call).count == 1)
      let tooFast = Answer.error(429, "too many messages", retryAfter: .milliseconds(50))
      #expect(served.ask(call) == [.answer(RequestID(3), tooFast)])
      _ = served.take(.drain(within: .seconds(5)))
      #expect(served.ask(call) == [.answer(RequestID(4), Stage.draining)])
    }
  }

  @Test func `deletions of an erasure do not count toward a rate`() {
    var served = Self.served { $0.postBurst = 1 }
    let eraser = Stage.token(ShopServer.operatorUser)
    for _ in 0..<3 {
      guard case .shop? = served.ask(Self.delete, as: eraser).first else {
        Issue.record("a deletion was refused")
        return
      }
    }
  }

  @Test func `answers 503 if the shop cannot be looked up or the change cannot be stored`() throws {
    var served = Self.served()
    _ = served.ask(Self.edit)
    #expect(
      served.take(.stored(StoreToken(2), .failed(.locked(detail: "")))) == [
        .answer(RequestID(1), Stage.storeFailed)
      ])
    let append = try served.change(Self.delete)
    #expect(
      served.take(.stored(append.token, .failed(.full(detail: "")))) == [
        .answer(RequestID(2), Stage.storeFailed)
      ])
    #expect(served.server.serviceHealth == .failing(reason: "the disk of the store is full"))
  }

  @Test func `changes and posts that arrive meanwhile share a commit, in order of arrival`() throws
  {
    var served = Self.served()
    let first = try served.post("first")
    for call in [Self.edit, Self.delete] {
      guard case .shop(let token, _) = served.ask(call).first else { continue }
      #expect(served.take(.stored(token, .shop(Stage.shop))) == [])
    }
    _ = served.ask(.send(Stage.draft("last")))
    let appends = served.store(first, at: 4).effects.flatMap(\.appends)
    #expect(appends.map(\.kind) == ["edit", "delete", "post"])
    let edited = LogOutcome.edited(Self.edited(at: 5), isNew: true)
    _ = served.take(.stored(appends[0].token, .appended(edited)))
    #expect(served.upgrade(9) == [.accept(ConnectionID(9), head: Stage.position(5))])
  }

  @Test func `an edit gets a later time than every message before it`() throws {
    var served = Self.served()
    _ = served.store(try served.post("x"), at: 4)
    guard case .edit(let edit) = try served.change(Self.edit).change else { return }
    #expect(edit.at == Stage.dawn.advanced(by: .microseconds(1)))
  }

  @Test(arguments: [0, 1]) func `an edit whose frame may be too long is refused`(more: Int) throws {
    var longest = Self.edited("")
    longest.createdAt = Stage.dawn.advanced(by: .microseconds(1))
    (longest.updatedAt, longest.parent) = (longest.createdAt, Self.id)
    (longest.position, longest.changed) = (Stage.position(4), Stage.position(4))
    let room = 10_240 - Frame.edited(longest).payload.count
    var served = Self.served()
    let text = String(repeating: "a", count: room + more)
    _ = served.ask(.edit(Revision(id: Self.id, text: text)))
    let effects = served.take(.stored(StoreToken(2), .shop(Stage.shop)))
    let refused = Answer.error(413, "the frame would have 10241 bytes, more than 10240")
    #expect(effects == [.answer(RequestID(1), refused)] || more == 0)
    #expect(effects.flatMap(\.appends).count == 1 - more)
  }

  @Test func `a jump of the log that an edit shows closes all sockets of the room`() throws {
    var served = Self.served()
    let append = try served.change(Self.edit)
    let outcome = LogOutcome.edited(Self.edited(at: 6), isNew: true)
    let effects = served.take(.stored(append.token, .appended(outcome)))
    #expect(
      effects.dropFirst() == [
        .close(ConnectionID(1), Closure(1011, "log discontinuity")),
        .close(ConnectionID(2), Closure(1011, "log discontinuity")),
      ])
  }

  @Test func `a plain server answers without an envelope, ignores keys and sends no events`() throws
  {
    var served = Self.served { $0.dialect = .plain }
    let append = try served.change(Self.edit)
    guard case .edit(let edit) = append.change else { return }
    #expect(edit.key == nil)
    let outcome = LogOutcome.edited(Self.edited(), isNew: true)
    let note = "Message updated successfully"
    #expect(
      served.take(.stored(append.token, .appended(outcome))) == [
        .answer(RequestID(1), Answer(200, .note(note)))
      ])
    let body = String(decoding: Answer(200, .note(note)).bytes, as: UTF8.self)
    #expect(body == #"{"message":"\#(note)"}"#)
  }
}

extension ShopServer.Effect {
  /// The status of an answer, or 0 for every other effect.
  fileprivate var status: Int { if case .answer(_, let answer) = self { answer.status } else { 0 } }
}

extension ShopServer.Append {
  fileprivate var kind: String {
    switch change {
    case .post: "post"
    case .edit: "edit"
    case .delete: "delete"
    }
  }
}
