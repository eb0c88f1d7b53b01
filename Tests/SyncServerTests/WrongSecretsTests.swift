import HoldfastCore
import Testing

@testable import HoldfastRelayServer
@testable import HoldfastServerParts
@testable import HoldfastSyncServer

/// Tests of the limits of wrong secrets at the routes of health sync.
struct WrongSecretsTests {
  private static func call(_ secret: UInt64?, from address: String = "a") -> SyncCall {
    var call = SyncCall("POST", .refresh)
    (call.address, call.showsSecret) = (address, secret != nil)
    call.wrongSecret = secret.flatMap {
      TokenHash([UInt8](repeating: UInt8(truncatingIfNeeded: $0), count: 32))
    }
    return call
  }

  /// Returns the status of the answer to a request with a wrong secret.
  private static func status(
    _ stage: inout SyncStage, _ secret: UInt64?, from address: String = "a"
  ) -> Int? {
    SyncStage.answer(stage.ask(1, call(secret, from: address), user: nil))?.status
  }

  /// Returns whether a request with a right secret is carried out.
  private static func isAdmitted(_ stage: inout SyncStage, from address: String = "a") -> Bool {
    var right = call(nil, from: address)
    right.showsSecret = true
    let effects = stage.ask(2, right)
    guard case .check(let token)? = effects.first else { return false }
    _ = stage.done(token.number, .checked)
    return true
  }

  @Test func `the limits are those of wrong pairing codes`() {
    #expect(RelayServerPolicy().wrongLimits == LockOut.Limits())
  }

  @Test func `five wrong secrets lock out an address for 15 minutes`() {
    var stage = SyncStage()
    for secret in 1...4 { #expect(Self.status(&stage, UInt64(secret)) == 401) }
    #expect(Self.isAdmitted(&stage))
    #expect(Self.status(&stage, 5) == 401)
    let locked = SyncStage.answer(stage.ask(3, Self.call(6), user: nil))
    #expect(locked?.status == 429 && locked?.retryAfter == .seconds(900))
    #expect(!Self.isAdmitted(&stage))
    #expect(Self.isAdmitted(&stage, from: "b"))
    #expect(Self.status(&stage, nil) == 401)
    stage.now = stage.now.advanced(by: .seconds(900) - .nanoseconds(1))
    #expect(!Self.isAdmitted(&stage))
    stage.now = stage.now.advanced(by: .nanoseconds(1))
    #expect(Self.isAdmitted(&stage))
  }

  @Test func `a repeated wrong secret counts once, and one without a secret never`() {
    var stage = SyncStage()
    for _ in 1...20 {
      #expect(Self.status(&stage, 1) == 401)
      #expect(Self.status(&stage, nil) == 401)
    }
    for secret in 2...4 { #expect(Self.status(&stage, UInt64(secret)) == 401) }
    #expect(Self.isAdmitted(&stage))
    #expect(Self.status(&stage, 1) == 401)
    #expect(!Self.isAdmitted(&stage))
  }

  @Test func `an announced upload is no way to try secrets`() {
    var stage = SyncStage()
    func announced(_ secret: UInt64?) -> SyncCall {
      var call = SyncStage.creation(isComplete: false)
      (call.address, call.showsSecret) = ("a", true)
      call.wrongSecret = Self.call(secret).wrongSecret
      return call
    }
    let first = stage.feed(.announced(RequestID(8), announced(nil), user: SyncStage.ann))
    #expect(!first.isEmpty)
    for secret in 1...5 {
      let effects = stage.feed(.announced(RequestID(9), announced(UInt64(secret)), user: nil))
      #expect(effects == [])
      _ = stage.feed(.cut(RequestID(9), announced(UInt64(secret))))
    }
    let right = stage.feed(.announced(RequestID(9), announced(nil), user: SyncStage.ann))
    #expect(right == [])
    #expect(!Self.isAdmitted(&stage))
  }

  @Test(arguments: [-1, 0, 1])
  func `the last secrets of mostRemembered addresses are kept`(beyond: Int) {
    var secrets = WrongSecrets(at: .zero)
    let count = WrongSecrets.mostRemembered + beyond
    for address in 0..<count {
      _ = secrets.refusal(of: Self.call(1, from: "\(address)"), nil, at: .zero)
    }
    #expect(secrets.last.count == (beyond > 0 ? beyond : count))
  }
}
