import Foundation
import HoldfastCore
import HoldfastTestKit
import Testing

@testable import Holdfast

/// Tests of token sources, and of the events that a feature's vault sends to its link.
@Suite(.timeLimit(.minutes(60))) struct TokenVaultTests {
  private let events = Mailbox<HeldLink.CredentialsEvent>()
  private let clock = TestClock()

  @Test func `a refusal of an older token does not affect the current one`() async {
    let vault = vault("one", "two", "two")
    await vault.renew()
    await vault.renew()
    await vault.refused("one")
    await vault.renew()
    #expect(
      events.takeAll() == [
        .available(expiresIn: nil), .available(expiresIn: nil), Self.unchanged,
      ])
  }

  @Test func `the same token is rejected after it was refused`() async {
    let vault = vault("one", "one")
    await vault.renew()
    await vault.refused("one")
    await vault.renew()
    #expect(events.takeAll() == [.available(expiresIn: nil), .rejected])
  }

  @Test func `after the rejection of a refused token, the source may supply it once more`() async {
    let vault = vault("one", "one", "one")
    await vault.renew()
    await vault.refused("one")
    await vault.renew()
    #expect(await vault.hasRefused("one"))
    await vault.renew()
    #expect(await !vault.hasRefused("one"))
    #expect(
      events.takeAll() == [
        .available(expiresIn: nil), .rejected, .available(expiresIn: nil),
      ])
  }

  @Test func `a request neither gets a refused token nor calls the source for another`() async {
    let vault = vault("one", "two")
    await vault.renew()
    await vault.refused("one")
    let refused = LinkFailure.http(
      status: 401, retryAfter: nil, detail: "the token was refused before")
    await #expect(throws: refused) { try await vault.first() }
    #expect(events.takeAll() == [.available(expiresIn: nil)])
  }

  @Test func `a token that several callers wait for is reported once`() async throws {
    let asked = Mailbox<Void>()
    let answers = Mailbox<String>()
    let vault = vault(
      of: TokenSource {
        asked.put(())
        return await answers.next() ?? ""
      })
    let renewal = Task { await vault.renew() }
    _ = await asked.next()
    let request = Task { try await vault.first() }
    await Task.yield()
    answers.put("one")
    await renewal.value
    #expect(try await request.value == "one")
    #expect(events.takeAll() == [.available(expiresIn: nil)])
  }

  @Test func `a new token is not refused because the one before it was`() async {
    let vault = vault("one", "two", "two")
    await vault.renew()
    await vault.refused("one")
    await vault.renew()
    await vault.renew()
    #expect(
      events.takeAll() == [
        .available(expiresIn: nil), .available(expiresIn: nil), Self.unchanged,
      ])
  }

  @Test func `does not report a token that a request gets after the end`() async throws {
    let vault = vault("one")
    await vault.end()
    #expect(try await vault.first() == "one")
    #expect(events.takeAll() == [])
  }

  @Test func `the expiry that the source states is used in place of the claim of the token`()
    async
  {
    let claims = Data(#"{"exp":1000}"#.utf8).base64EncodedString().filter { $0 != "=" }
    let dates: [Date?] = [nil, Date(timeIntervalSince1970: 300), .distantFuture, .distantPast]
    let tokens = ListedTokens(
      dates.enumerated().map { index, date in
        TokenSource.Token("e3\(index).\(claims).c2ln", expiresAt: date)
      })
    let vault = vault(of: .expiring { try await tokens.next() })
    for _ in dates { await vault.renew() }
    let found = events.takeAll()
    #expect(
      found.dropLast() == [
        .available(expiresIn: .seconds(1000)), .available(expiresIn: .seconds(300)),
        .available(expiresIn: nil),
      ])
    guard case .available(let expiresIn?)? = found.last else {
      Issue.record("a date in the far past does not count as expired")
      return
    }
    #expect(expiresIn < .zero)
  }

  @Test func `the text of an error of the system does not contain the URL that failed`() async {
    let url = "https://sign-in.example/token?client_secret=SEKRIT"
    let keys = ["NSErrorFailingURLStringKey", "NSErrorFailingURLKey"]
    let userInfo = Dictionary(uniqueKeysWithValues: keys.map { ($0, url as Any) })
    let failures: [any Error] = [
      URLError(.timedOut, userInfo: userInfo),
      NSError(domain: NSURLErrorDomain, code: NSURLErrorTimedOut, userInfo: userInfo),
    ]
    for failure in failures {
      let source = TokenSource { throw failure }
      let error = await #expect(throws: TokenFailure.self) { try await source.token() }
      #expect(error?.description.hasPrefix("there is no token: ") == true)
      #expect(error?.description.contains("SEKRIT") == false)
    }
  }

  @Test(arguments: ["", "one\n", "on\u{0}e", "one\u{7F}"])
  func `a token that no request can contain is an error`(text: String) async {
    #expect(throws: OpenError.self) { try TokenSource.fixed(text).check() }
    await #expect(throws: OpenError.self) {
      _ = try await ShopStreams(storage: .memory, tokens: .fixed(text))
    }
    await #expect(throws: OpenError.self) {
      _ = try await HeldSession(
        SessionConfiguration("wss://agent.example", storage: .memory, tokens: .fixed(text)))
    }
    #expect(throws: OpenError.self) {
      _ = try HealthPull(server: "https://relay.example", token: Secret(text)) { _, _ in .sample }
    }
    await #expect(throws: TokenFailure.self) { try await TokenSource { text }.token() }
  }

  @Test(arguments: ["one", "a b", "t\u{E9}"])
  func `a fixed token may contain what a header may contain`(text: String) throws {
    try TokenSource.fixed(text).check()
  }

  @Test func `the parts of a token with spaces are removed from texts`() {
    let redaction = Redaction(["SEKRIT-ONE SEKRIT-TWO abc"])
    #expect(
      redaction.clean("SEKRIT-ONE SEKRIT-TWO abc, SEKRIT-TWO and abc")
        == "[token], [token] and abc")
  }

  @Test func `the description of a token does not contain its text`() {
    let token = TokenSource.Token("SEKRIT")
    #expect("\(token) \([token])" == "[token] [[token]]")
  }

  @Test func `the text of a source's error reaches the request and the link, without the token`()
    async throws
  {
    let answers = Mailbox<Result<String, SignInError>>()
    let vault = vault(of: TokenSource { try await answers.next()?.get() ?? "" })
    answers.put(.failure(SignInError(text: "the account is locked")))
    await #expect(throws: LinkFailure.local(detail: "there is no token: the account is locked")) {
      try await vault.first()
    }
    answers.put(.success("sekrit-token"))
    #expect(try await vault.first() == "sekrit-token")
    answers.put(.failure(SignInError(text: "nobody knows sekrit-token")))
    await vault.renew()
    answers.put(.success(""))
    await vault.renew()
    #expect(
      events.takeAll() == [
        .available(expiresIn: nil),
        .refreshFailed(detail: "there is no token: nobody knows [token]"),
        .refreshFailed(detail: "there is no token: the token is empty"),
      ])
  }

  @Test func `a source that does not answer in time has failed`() async {
    let silence = Mailbox<String>()
    let vault = vault(of: TokenSource { await silence.next() ?? "" })
    let renewal = Task { await vault.renew() }
    await clock.advanceToNextDeadline()
    await renewal.value
    let late = "there is no token: the source did not answer within 10s"
    #expect(events.takeAll() == [.refreshFailed(detail: late)])
  }

  private static let unchanged = HeldLink.CredentialsEvent.refreshFailed(
    detail: "there is no token: the source returned the current token again")

  private func vault(_ texts: String...) -> TokenVault {
    let tokens = ListedTokens(texts.map { TokenSource.Token($0) })
    return vault(of: .expiring { try await tokens.next() })
  }

  private func vault(of source: TokenSource) -> TokenVault {
    TokenVault(source, limit: .seconds(10), clock: clock) { [events] event, _ in
      events.put(event)
    }
  }
}

/// A list of tokens, which are returned in order.
private actor ListedTokens {
  private var tokens: [TokenSource.Token]

  init(_ tokens: [TokenSource.Token]) {
    self.tokens = tokens
  }

  func next() throws -> TokenSource.Token {
    guard !tokens.isEmpty else { throw CancellationError() }
    return tokens.removeFirst()
  }
}

/// An error of an app, with a text for the user.
private struct SignInError: LocalizedError {
  let text: String

  var errorDescription: String? { text }
}
