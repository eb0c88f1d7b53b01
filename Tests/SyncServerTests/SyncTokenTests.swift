import HoldfastCore
import Testing

@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// Tests of tokens of an identity provider at the routes of health sync.
struct SyncTokenTests {
  private static func refused(_ fault: CredentialFault) -> SyncCall {
    var call = SyncCall("POST", .refresh)
    (call.address, call.showsSecret, call.refusedToken) = ("a", true, fault)
    return call
  }

  @Test func `a refused token is answered with a challenge, and locks nobody out`() {
    var stage = SyncStage()
    let call = Self.refused(CredentialFault("the token has expired", hasToken: true))
    for _ in 1...20 {
      let answer = SyncStage.answer(stage.ask(1, call, user: nil))
      #expect(answer?.status == 401)
      let challenge = #"Bearer error="invalid_token", error_description="the token has expired""#
      #expect(answer?.headers.contains { $0 == ("WWW-Authenticate", challenge) } == true)
    }
    #expect(stage.server.wrongSecrets.last.isEmpty)
    var right = SyncCall("POST", .refresh)
    (right.address, right.showsSecret) = ("a", true)
    #expect(stage.ask(2, right) == [.check(StoreToken(1))])
  }

  @Test func `without keys, a client is asked to come back`() {
    var stage = SyncStage()
    let call = Self.refused(CredentialFault(retryAfter: .seconds(7)))
    let answer = SyncStage.answer(stage.ask(1, call, user: nil))
    #expect(answer?.status == 503 && answer?.retryAfter == .seconds(7))
  }

  @Test func `a user with a token is served while wrong secrets lock out the address`() {
    var stage = SyncStage()
    for number in 1...5 {
      var wrong = SyncCall("POST", .refresh)
      (wrong.address, wrong.showsSecret) = ("a", true)
      wrong.wrongSecret = TokenHash([UInt8](repeating: UInt8(number), count: 32))
      #expect(SyncStage.answer(stage.ask(1, wrong, user: nil))?.status == 401)
    }
    var valid = SyncCall("POST", .refresh)
    valid.address = "a"
    #expect(stage.ask(2, valid, user: SyncUser("bob")) == [.check(StoreToken(1))])
  }

  @Test func `an upload with a refused token is not announced`() {
    var stage = SyncStage()
    var call = SyncStage.creation(isComplete: false)
    (call.address, call.showsSecret) = ("a", true)
    call.refusedToken = CredentialFault("x", hasToken: true)
    for _ in 1...6 {
      #expect(stage.feed(.announced(RequestID(1), call, user: nil)) == [])
      _ = stage.feed(.cut(RequestID(1), call))
    }
    call.refusedToken = nil
    #expect(!stage.feed(.announced(RequestID(2), call, user: SyncStage.ann)).isEmpty)
  }
}
