import HoldfastCore
import HoldfastMessageData
import Testing

@testable import HoldfastMessageStream

/// Tests of frames that are not messages.
struct FrameTests {
  private static let bad = MessageError.missing(field: "id")

  @Test(arguments: [(4, true), (5, false), (6, false)])
  func `five malformed frames within a minute end the connection`(count: Int, stays: Bool) {
    var world = StreamHarness.connected(.ours)
    for _ in 0..<count { world.sendDown { .frame($0, .malformed(Self.bad)) } }
    world.pass(.seconds(1))
    #expect((world.status.state == .connected) == stays)
    #expect(world.status.mode == (stays ? .live : .polling))
    #expect(world.log.closes == (stays ? [] : [1002]))
    #expect(world.notices.filter { $0 == .malformed(Self.bad) }.count == min(count, 5))
  }

  @Test(arguments: [(59_999, false), (60_000, true), (60_001, true)])
  func `the fifth malformed frame counts within a minute of the first`(
    milliseconds: Int, stays: Bool
  ) {
    var world = StreamHarness.connected(.ours)
    guard let attempt = world.model.link.currentAttempt else { return }
    for _ in 0..<4 { world.give(.frame(attempt, .malformed(Self.bad))) }
    world.pass(.milliseconds(milliseconds))
    world.give(.frame(attempt, .malformed(Self.bad)))
    #expect((world.status.state == .connected) == stays)
  }

  @Test func `ignores a malformed frame and fetches its message over REST`() {
    var world = StreamHarness.connected(.ours)
    world.say("garbled", silently: true)
    world.sendDown { .frame($0, .malformed(Self.bad)) }
    world.pass(.seconds(1))
    #expect(world.status.state == .connected)
    world.say("next")
    world.pass(.seconds(1))
    #expect(world.texts.suffix(2) == ["garbled", "next"])
    #expect(world.ledger.problems == [])
  }

  @Test(arguments: Shop.Kind.allCases)
  func `drops and counts a frame over the limit, and fetches its message over REST`(kind: Shop.Kind)
  {
    var world = StreamHarness.connected(kind)
    world.say("long", silently: true)
    world.sendDown { .link(.oversized($0, bytes: 10_241), at: Harness.wall) }
    world.pass(.seconds(1))
    #expect(world.texts.last == "long")
    #expect(world.ways.last == .catchUp)
    #expect(world.notices == [.oversized(bytes: 10_241)])
    #expect(world.status.state == .connected)
  }

  @Test func `a message of another shop is not shown`() {
    var world = StreamHarness.connected(.ours)
    world.sendDown { .frame($0, .malformed(.wrongShop(found: "other"))) }
    world.pass(.seconds(1))
    #expect(world.notices == [.malformed(.wrongShop(found: "other"))])
    #expect(world.texts == ["m1", "m2", "m3"])
  }

  @Test func `five messages of another shop within a minute end the socket, and polling starts`() {
    var world = StreamHarness.connected(.ours)
    guard let attempt = world.model.link.currentAttempt else { return }
    let other = StreamModel.Frame.malformed(.wrongShop(found: "other"))
    for _ in 0..<4 { world.give(.frame(attempt, other)) }
    #expect(world.status.state == .connected)
    world.give(.frame(attempt, other))
    #expect(world.status.state == .polling && world.status.mode == .polling)
    #expect(world.texts == ["m1", "m2", "m3"])
  }

  @Test func `reports and ignores frames of an unknown kind, however many arrive`() {
    var world = StreamHarness.connected(.ours)
    for _ in 0..<9 { world.sendDown { .frame($0, .unknown(type: "typing")) } }
    world.pass(.seconds(1))
    #expect(world.notices == Array(repeating: .unknownType("typing"), count: 9))
    #expect(world.status.state == .connected)
  }

  @Test func `late input of an older socket changes nothing`() {
    var world = StreamHarness.connected(.ours)
    guard let old = world.model.link.currentAttempt else { return }
    world.cut()
    world.pass(.seconds(10))
    let before = world.ledger.updates
    let asked = world.fetches
    let (late, _) = world.shop.accept("late", from: "you", at: world.wall)
    world.give(.frame(old, .message(late)))
    world.give(.frame(old, .malformed(Self.bad)))
    world.give(.oversized(old, bytes: 20_000))
    world.give(.opened(old, head: nil))
    world.give(.lost(old, .reset))
    #expect(world.ledger.updates == before)
    #expect(world.fetches == asked)
    #expect(world.status.state == .connected)
  }

  @Test(arguments: [
    StreamModel.Frame.draining(within: .seconds(30)), .unknown(type: "typing"), .malformed(bad),
  ])
  func `a frame of any kind is a sign of life`(frame: StreamModel.Frame) throws {
    try Self.expectLife { .frame($0, frame) }
  }

  @Test func `a frame over the limit is a sign of life`() throws {
    try Self.expectLife { .link(.oversized($0, bytes: 10_241), at: Harness.wall) }
  }

  /// Checks that the socket stays open for 90 s after an input that arrives one minute after the
  /// socket opened.
  private static func expectLife(_ input: (AttemptID) -> StreamModel.Input) throws {
    var model = Harness.connected(at: 5).model
    let attempt = try #require(model.link.currentAttempt)
    let received = Instant.zero.advanced(by: .seconds(60))
    _ = model.tick(at: received)
    _ = model.handle(input(attempt), at: received)
    _ = model.tick(at: received.advanced(by: .milliseconds(89_999)))
    #expect(model.link.currentAttempt == attempt)
    _ = model.tick(at: received.advanced(by: .seconds(90)))
    #expect(model.link.currentAttempt != attempt)
  }

  /// The arguments are a limit, the number of malformed frames, and whether they end the
  /// connection.
  @Test(arguments: [(0, 1, true), (1, 1, true), (5, 4, false), (5, 5, true)])
  func `ends the connection when malformed frames reach the limit`(
    limit: Int, count: Int, isOver: Bool
  ) throws {
    var harness = Harness.connected(at: 5) { $0.malformedLimit = limit }
    let attempt = try #require(harness.model.link.currentAttempt)
    for _ in 0..<count { harness.give(.frame(attempt, .malformed(Self.bad))) }
    #expect((harness.model.link.currentAttempt != attempt) == isOver)
  }

  @Test func `malformed frames of an ended socket do not count for the next`() throws {
    var harness = Harness.connected(at: 5)
    let attempt = try #require(harness.model.link.currentAttempt)
    for _ in 0..<5 { harness.give(.frame(attempt, .malformed(Self.bad))) }
    #expect(harness.model.link.currentAttempt != attempt)
    harness.give(.refresh)
    let next = try #require(harness.model.link.currentAttempt)
    harness.give(.opened(next, head: Harness.at(5)))
    for _ in 0..<4 { harness.give(.frame(next, .malformed(Self.bad))) }
    #expect(harness.model.link.currentAttempt == next)
  }
}
