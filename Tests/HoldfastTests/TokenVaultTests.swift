import HoldfastTestKit
import HoldfastCore
import Testing

@testable import Holdfast

/// Tests of the token events that a feature's vault sends to its link.
@Suite(.timeLimit(.minutes(10))) struct TokenVaultTests {
  private let events = Mailbox<HeldLink.CredentialsEvent>()

  @Test func `a refusal of an older token does not affect the current one`() async {
    let vault = vault("one", "two", "two")
    await vault.renew()
    await vault.renew()
    await vault.refused("one")
    await vault.renew()
    #expect(
      events.takeAll() == [
        .available(expiresIn: nil), .available(expiresIn: nil), .refreshFailed,
      ])
  }

  @Test func `the same token is rejected after it was refused`() async {
    let vault = vault("one", "one")
    await vault.renew()
    await vault.refused("one")
    await vault.renew()
    #expect(events.takeAll() == [.available(expiresIn: nil), .rejected])
  }

  @Test func `a new token is not refused because the one before it was`() async {
    let vault = vault("one", "two", "two")
    await vault.renew()
    await vault.refused("one")
    await vault.renew()
    await vault.renew()
    #expect(
      events.takeAll() == [
        .available(expiresIn: nil), .available(expiresIn: nil), .refreshFailed,
      ])
  }

  @Test func `does not report a token that a request gets after the end`() async throws {
    let vault = vault("one")
    await vault.end()
    #expect(try await vault.first() == "one")
    #expect(events.takeAll() == [])
  }

  private func vault(_ texts: String...) -> TokenVault {
    TokenVault(ListedTokens(texts), limit: .seconds(10), clock: TestClock()) { [events] event, _ in
      events.put(event)
    }
  }
}

/// A token source that returns the tokens of a list in order.
private actor ListedTokens: TokenSource {
  private var texts: [String]

  init(_ texts: [String]) {
    self.texts = texts
  }

  func token() async throws(TokenFailure) -> String {
    guard !texts.isEmpty else { throw .unavailable }
    return texts.removeFirst()
  }
}
