import HoldfastCore
import HoldfastMessageData
import HoldfastMessageServer
import HoldfastServerFixtures
import Testing

/// Tests that posts of a shop that arrive during a store write are stored together after that
/// write.
struct TogetherTests {
  @Test func `passes to the store all posts that arrived meanwhile, in order of arrival`() throws {
    var served = Served.opened()
    let first = try served.post("first")
    let key = UUID128(high: 1, low: 1)
    #expect(served.ask(.send(Stage.draft("second", key: key))) == [])
    #expect(served.ask(.send(Stage.draft("third"))) == [])
    let effects = served.store(first, at: 1).effects
    #expect(effects.count == 3)
    let appends = try #require(effects.last?.appends)
    #expect(appends.map(\.message.text) == ["second", "third"])
    #expect(appends.map(\.key) == [key, nil])
    let stamps = appends.map { Stage.dawn.duration(to: $0.message.createdAt) }
    #expect(stamps == [.microseconds(1), .microseconds(2)])
  }

  @Test func `answers and broadcasts each post when its store answer arrives, in order`() throws {
    var served = Served.opened()
    let appends = try Self.together(["a", "b"], in: &served)
    for (index, append) in appends.enumerated() {
      let (stored, effects) = served.store(
        (append.token, append.message), at: UInt64(index) + 2)
      let answer = Answer(201, .message(stored, note: "Message created successfully"))
      #expect(
        effects == [
          .answer(RequestID(UInt64(index) + 2), answer),
          .send(.message(stored), to: [ConnectionID(1)]),
        ])
    }
  }

  @Test func `passes nothing to the store while an answer of the last commit is missing`() throws {
    var served = Served.opened()
    let appends = try Self.together(["a", "b"], in: &served)
    #expect(served.ask(.send(Stage.draft("c"))) == [])
    let first = served.store((appends[0].token, appends[0].message), at: 2).effects
    #expect(first.flatMap(\.appends) == [])
    let second = served.store((appends[1].token, appends[1].message), at: 3).effects
    #expect(second.last?.appends.map(\.message.text) == ["c"])
  }

  @Test func `a failure in the middle is answered to its author only`() throws {
    var served = Served.opened()
    let appends = try Self.together(["a", "b", "c"], in: &served)
    _ = served.store((appends[0].token, appends[0].message), at: 2)
    #expect(
      served.take(.stored(appends[1].token, .failed(.other(detail: "known id")))) == [
        .answer(RequestID(3), Stage.storeFailed)
      ])
    let (stored, effects) = served.store((appends[2].token, appends[2].message), at: 3)
    #expect(effects.last == .send(.message(stored), to: [ConnectionID(1)]))
  }

  @Test func `a failed commit is answered to each author, and the next posts continue`() throws {
    var served = Served.opened()
    let appends = try Self.together(["a", "b"], in: &served)
    #expect(served.ask(.send(Stage.draft("next"))) == [])
    let failed = ShopServer.StoreAnswer.failed(.full(detail: "disk"))
    #expect(
      served.take(.stored(appends[0].token, failed)) == [
        .answer(RequestID(2), Stage.storeFailed)
      ])
    let effects = served.take(.stored(appends[1].token, failed))
    #expect(effects.first == .answer(RequestID(3), Stage.storeFailed))
    #expect(effects.last?.appends.map(\.message.text) == ["next"])
  }

  @Test func `a repeated post does not move the head or hide a later one`() throws {
    var served = Served.opened()
    let appends = try Self.together(["known", "new"], in: &served)
    let known = served.store((appends[0].token, appends[0].message), at: 1, isNew: false)
    #expect(
      known.effects == [
        .answer(
          RequestID(2), Answer(200, .message(known.stored, note: "Message already created")))
      ])
    let (stored, effects) = served.store((appends[1].token, appends[1].message), at: 2)
    #expect(effects.last == .send(.message(stored), to: [ConnectionID(1)]))
  }

  @Test func `a socket that opens between two store answers receives the head between them`() throws
  {
    var served = Served.opened()
    let appends = try Self.together(["a", "b"], in: &served)
    _ = served.store((appends[0].token, appends[0].message), at: 2)
    #expect(served.upgrade(2) == [.accept(ConnectionID(2), head: Stage.position(2))])
    let (stored, effects) = served.store((appends[1].token, appends[1].message), at: 3)
    #expect(
      effects.last == .send(.message(stored), to: [ConnectionID(1), ConnectionID(2)]))
  }

  /// The tenth message has one digit more in its position than the ninth.
  @Test func `a frame is measured with the offset that its message may get`() throws {
    let room = try Self.longest(behind: 7)
    for (length, appended) in [(room, 2), (room + 1, 1)] {
      var served = Served()
      served.open(1, head: 7)
      let first = try served.post("first")
      _ = served.ask(.send(Stage.draft("small")))
      let text = String(repeating: "a", count: length - 1)
      _ = served.ask(.send(Stage.draft(text)))
      let effects = served.store(first, at: 8).effects
      #expect(effects.last?.appends.count == appended)
      let refused = Answer.error(413, "the frame would have 10241 bytes, more than 10240")
      #expect(effects.contains(.answer(RequestID(3), refused)) == (appended == 1))
    }
  }

  @Test func `posts that are all too long cause no store write`() throws {
    var served = Served.opened()
    let first = try served.post("first")
    for _ in 0..<2 { _ = served.ask(.send(Stage.draft(String(repeating: "a", count: 10_240)))) }
    let effects = served.store(first, at: 1).effects
    #expect(effects.count == 4)
    #expect(effects.flatMap(\.appends) == [])
    #expect(try served.post("next").1.text == "next")
  }

  @Test(arguments: [
    (-1, ["b"], ["c", "d"]), (0, ["b", "c"], ["d"]), (1, ["b", "c"], ["d"]),
  ])
  func `appends frames up to a limit of bytes, and the rest after their answers`(
    above: Int, now: [String], next: [String]
  ) throws {
    let bytes = try Self.bytesOfTwo()
    var served = Served.opened { $0.maxCommitBytes = bytes + above }
    let appends = try Self.together(["b", "c", "d"], in: &served)
    #expect(appends.map(\.message.text) == now)
    var effects: [ShopServer.Effect] = []
    for (index, append) in appends.enumerated() {
      #expect(effects.flatMap(\.appends) == [])
      effects = served.store((append.token, append.message), at: UInt64(index) + 2).effects
    }
    let rest = effects.flatMap(\.appends).map(\.message)
    #expect(rest.map(\.text) == (above < 0 ? ["c"] : next))
    let stamp = rest.first.map { Stage.dawn.duration(to: $0.createdAt) }
    #expect(stamp == .microseconds(appends.count + 1))
  }

  @Test func `a frame beyond the limit is appended alone, and a failure lets the rest follow`()
    throws
  {
    var served = Served.opened { $0.maxCommitBytes = 1 }
    let appends = try Self.together(["b", "c"], in: &served)
    #expect(appends.map(\.message.text) == ["b"])
    let effects = served.take(.stored(appends[0].token, .failed(.full(detail: "disk"))))
    #expect(effects.flatMap(\.appends).map(\.message.text) == ["c"])
  }

  @Test func `every waiting post counts toward the limit of requests`() throws {
    var served = Served.opened { $0.maxRequests = 2 }
    let appends = try Self.together(["a"], in: &served)
    #expect(served.ask(.send(Stage.draft("b"))) == [])
    for request in 2...3 { _ = served.take(.abandoned(RequestID(UInt64(request)))) }
    let effects = served.store((appends[0].token, appends[0].message), at: 2).effects
    #expect(effects.last?.appends.count == 1)
    #expect(served.ask(.all(Stage.shop)).count == 1)
    #expect(served.ask(.all(Stage.shop)) == [.answer(RequestID(5), Stage.busy)])
  }

  /// Posts `texts` while another message is being stored, completes that write and returns the
  /// appends that follow.
  private static func together(
    _ texts: [String], in served: inout Served
  ) throws -> [ShopServer.Append] {
    let first = try served.post("first")
    for text in texts { _ = served.ask(.send(Stage.draft(text))) }
    return try #require(served.store(first, at: 1).effects.last?.appends)
  }

  /// Returns the size of the frames of two posts that are stored together after a first one.
  private static func bytesOfTwo() throws -> Int {
    var served = Served.opened()
    let appends = try together(["b", "c"], in: &served)
    return appends.enumerated().reduce(0) { sum, append in
      var framed = append.element.message
      framed.position = Stage.position(UInt64(append.offset) + 2)
      return sum + Frame.message(framed).payload.count
    }
  }

  /// Returns how many letters fit into the frame of a third message whose position has one digit.
  private static func longest(behind head: UInt64) throws -> Int {
    var served = Served()
    served.open(1, head: head)
    var framed = try served.post("a").1
    framed.position = Stage.position(head + 1)
    framed.createdAt = Stage.dawn.advanced(by: .microseconds(2))
    return 10_240 - StreamCodec.encode(framed).count + 1
  }
}
