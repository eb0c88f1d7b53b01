import HealthRelay
import LinkCore
import LinkHealth
import LinkWire
import Testing

@testable import LinkSimulator

/// The second account of what a phone of the relay does.
@Suite struct RelayPhoneTwinTests {
  private let attempt = AttemptID(1)
  private let question = HealthQuestion.numbered(1)
  private let odd = RelayModel.Message.unknown(type: "news", nil)

  private func started() -> RelayPhoneTwin {
    var twin = RelayPhoneTwin(.healthRelayService, hasNotification: true, seed: 1)
    _ = twin.step(.start, at: .zero)
    return twin
  }

  /// A phone to which a backend gave a code, and that takes parts.
  private func running() -> RelayPhoneTwin {
    var twin = started()
    _ = twin.step(.opened(attempt), at: .zero)
    let pair = RelayPair(code: Secret("123456"), word: Secret("anchor"))
    let welcome = RelayModel.Welcome(pair: pair, resume: Secret("t"), acceptsParts: true)
    _ = twin.step(.message(attempt, .paired(welcome)), at: .zero)
    return twin
  }

  @Test func `the account opens a socket and shows that it does`() {
    var twin = RelayPhoneTwin(.healthRelayService, hasNotification: true, seed: 1)
    let starting = RelayStatus(.starting)
    let must: [RelayPhoneAct] = [
      .effect(.open(attempt, resume: nil)), .effect(.update(.status(starting))),
      .effect(.notify(starting)),
    ]
    #expect(twin.step(.start, at: .zero) == must)
  }

  @Test func `the account sends one part behind the proof of the one before`() throws {
    let id = try #require(RelayRequestID("q"))
    var twin = running()
    #expect(twin.token == Secret("t"))
    let work = WorkID(1)
    let asked = twin.step(.message(attempt, .asked(id, question)), at: .second(1))
    #expect(asked == [.effect(.read(work, id, question, inParts: true))])
    let answer = RelayModel.Prepared(parts: 2, content: .points(3, isTruncated: false))
    let first: [RelayPhoneAct] = [
      .effect(.send(attempt, work, part: 0)), .effect(.ping(attempt, 0x8000_0000_0000_0001)),
    ]
    #expect(twin.step(.prepared(work, answer), at: .second(2)) == first)
    let second: [RelayPhoneAct] = [
      .effect(.send(attempt, work, part: 1)), .effect(.ping(attempt, 0x8000_0000_0000_0002)),
    ]
    #expect(twin.step(.pong(attempt, 0x8000_0000_0000_0001), at: .second(3)) == second)
    let last: [RelayPhoneAct] = [
      .effect(.discard(work)),
      .ended(id, question, .answered(points: 3, isTruncated: false), took: .seconds(3)),
    ]
    #expect(twin.step(.pong(attempt, 0x8000_0000_0000_0002), at: .second(4)) == last)
    #expect(twin.step(.message(attempt, .asked(id, question)), at: .second(5)) == [])
  }

  @Test func `the account refuses twenty words in a minute and tells of one`() {
    var twin = started()
    let refusal = RelayPhoneAct.effect(
      .refuse(attempt, nil, nil, reason: "messages of this type are not understood"))
    let problem = RelayPhoneAct.effect(.update(.problem(.unknownType("news"), withheld: 0)))
    #expect(twin.step(.message(attempt, odd), at: .zero) == [problem, refusal])
    for _ in 2...20 { #expect(twin.step(.message(attempt, odd), at: .second(1)) == [refusal]) }
    #expect(twin.step(.message(attempt, odd), at: .second(2)) == [])
    let later = RelayPhoneAct.effect(.update(.problem(.unknownType("news"), withheld: 20)))
    #expect(twin.step(.message(attempt, odd), at: .second(60)) == [later, refusal])
  }

  @Test func `the account has a goodbye of five seconds`() {
    var twin = running()
    let left = twin.step(.stop, at: .second(9))
    #expect(left.first == .effect(.close(attempt, code: 1000)))
    #expect(twin.state == RelayStatus(.stopping))
    #expect(twin.token == nil)
    #expect(twin.deadline == .second(14))
    _ = twin.step(nil, at: .second(14))
    #expect(twin.state == RelayStatus(.idle))
  }

  @Test(arguments: [("t", true), ("!~", true), ("", false), ("a b", false), ("a\u{7F}", false)])
  func `the account keeps tokens that can stand in a header field`(text: String, isKept: Bool) {
    #expect(RelayPhoneWalk.token(text) == (isKept ? Secret(text) : nil))
  }

  @Test(arguments: 1...30 as ClosedRange<UInt64>)
  func `a phone of the relay to which anything is said does what it must`(seed: UInt64) {
    var walk = RelayPhoneWalk(Chance(seed: seed))
    #expect(walk.walk(300) == nil)
  }

  @Test func `a walk of a phone returns the first difference`() throws {
    let stray = try RelayPhoneWalk.finding { walk in
      walk.twin.token = Secret("another")
      walk.stray = walk.walk(20)
    }
    #expect(stray != nil)
    #expect(RelayPhoneWalk.difference([.effect(.unnotify)], [.effect(.unnotify)]) == nil)
    #expect(RelayPhoneWalk.difference([.effect(.unnotify)], []) != nil)
  }
}
