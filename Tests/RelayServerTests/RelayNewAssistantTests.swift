import HoldfastCore
import HoldfastRelayData
import HoldfastRelayFixtures
import HoldfastRelayServer
import Testing

/// Tests that a phone learns of each assistant that signs in.
struct RelayNewAssistantTests {
  private let phone = RelayStage.phone(1)

  /// Signs an assistant in with the code that phone 1 shows. The next code is drawn before the token
  /// is stored, or after it.
  private func signIn(
    _ relay: inout Relayed, _ number: UInt64, isGrant: Bool = false, drawsFirst: Bool = true
  ) -> [RelayServer.Effect] {
    let pair = RelayStage.pair(number)
    let name = AssistantName("app \(number)")
    let (id, _) = relay.ask(
      isGrant
        ? .grant(word: pair.word, code: pair.code, assistant: name)
        : .login(word: pair.word, code: pair.code, assistant: name))
    let draw = RelayServer.Input.tokenDrawn(.pair(phone, RelayStage.pair(number + 1)))
    let drawn = drawsFirst ? relay.take(draw) : []
    let granted = relay.complete(
      relay.take(.tokenDrawn(.access(id, RelayStage.secret("t\(number)")))))
    return drawn + granted + (drawsFirst ? [] : relay.take(draw))
  }

  private func names(_ effects: [RelayServer.Effect]) -> [[String]] {
    effects.compactMap { effect in
      guard case .send(_, .connectionCode(let code)) = effect else { return nil }
      return code.newAssistants.map { $0.name?.name ?? "" }
    }
  }

  @Test(arguments: [true, false])
  func `a connected phone receives its code with the assistant`(isGrant: Bool) {
    var relay = Relayed.withPhone()
    let effects = signIn(&relay, 1, isGrant: isGrant)
    #expect(names(effects) == [[], ["app 1"]])
    guard case .send(_, .connectionCode(let code))? = effects.last else {
      Issue.record("no code")
      return
    }
    #expect(code.code == RelayStage.pair(2).code && code.resumed && code.resumeToken == nil)
    #expect(
      code.newAssistants == [
        PairedAssistants.Assistant(
          id: RelayStage.hash("t1").shortName, name: AssistantName("app 1"), since: relay.wall,
          lastQuestion: nil,
          expiresAt: relay.wall.advanced(by: .seconds(isGrant ? 120 : 7_200)))
      ])
    #expect(names(signIn(&relay, 2)) == [[], ["app 2"]])
  }

  @Test func `a code that is drawn later has the assistant, so that none is sent twice`() {
    var relay = Relayed.withPhone()
    #expect(names(signIn(&relay, 1, drawsFirst: false)) == [["app 1"]])
    #expect(names(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(9))))) == [[]])
  }

  @Test func `an assistant that was refused is not reported`() {
    var relay = Relayed.withPhone()
    let (id, _) = relay.ask(.login(word: "anchor", code: RelayStage.pair(1).code))
    _ = relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(2))))
    let stored = relay.take(.tokenDrawn(.access(id, RelayStage.secret("t1"))))
    #expect(names(relay.complete(stored, failure: .full(detail: "disk"))) == [])
  }

  @Test func `a ninth assistant is reported with the one that it signed out`() {
    var relay = Relayed.withPhone()
    for number in 1...8 { _ = signIn(&relay, UInt64(number)) }
    let effects = signIn(&relay, 9)
    #expect(names(effects) == [[], ["app 9"]])
    guard case .send(_, .connectionCode(let code))? = effects.last(where: { names([$0]) != [] })
    else {
      Issue.record("no code")
      return
    }
    #expect(code.message.hasPrefix("app 1 was signed out"))
  }

  @Test func `a phone of the original protocol receives nothing more`() {
    var relay = Relayed.withPhone(plain: true)
    #expect(names(signIn(&relay, 1)) == [[]])
  }

  /// Loses the socket of phone 1, and returns the codes that it receives on the next one.
  private func back(_ relay: inout Relayed, from old: UInt64 = 1, to new: UInt64 = 2) -> [[String]]
  {
    _ = relay.complete(relay.gone(old))
    return names(relay.complete(relay.open(new, resume: "resume-1")))
  }

  @Test func `a phone that was away is informed when it is back`() {
    var relay = Relayed.withPhone()
    _ = relay.complete(relay.gone(1))
    _ = signIn(&relay, 1)
    let effects = relay.complete(relay.open(2, resume: "resume-1"))
    #expect(
      names(effects + relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(5))))) == [["app 1"]])
    #expect(back(&relay, from: 2, to: 3) == [[]])
  }

  @Test(arguments: [true, false])
  func `a report on a socket that was lost is sent again`(arrives: Bool) {
    var relay = Relayed.withPhone()
    relay.pass(.seconds(1))
    #expect(names(signIn(&relay, 1)) == [[], ["app 1"]])
    relay.pass(.seconds(1))
    if arrives { _ = relay.take(.received(ConnectionID(1))) }
    #expect(back(&relay) == [arrives ? [] : ["app 1"]])
  }

  @Test(arguments: [0, 1, 2])
  func `a phone that was away at a restart is informed of later assistants`(seconds: Int64) {
    let left = RelayStage.dawn.advanced(by: .seconds(1))
    let stored = StoredRelay(
      phones: [
        StoredPhone(
          id: phone, device: RelayStage.device(1), resume: RelayStage.hash("resume-1"),
          leftAt: left)
      ],
      accesses: [
        StoredAccess(
          token: RelayStage.hash("t1"), phone: phone,
          expiresAt: left.advanced(by: .seconds(7_200)), assistant: AssistantName("app 1"),
          since: RelayStage.dawn.advanced(by: .seconds(seconds)))
      ], questions: [])
    var relay = Relayed()
    relay.pass(.seconds(5))
    _ = relay.take(.restored(stored, wall: relay.wall))
    _ = relay.complete(relay.open(1, resume: "resume-1"))
    let codes = names(relay.take(.tokenDrawn(.pair(phone, RelayStage.pair(1)))))
    #expect(codes == [seconds > 1 ? ["app 1"] : []])
  }
}
