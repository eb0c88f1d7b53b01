import LinkCore
import LinkWire

/// Gives tokens: the first one, and a new one each time the old one ends or is refused.
public protocol TokenSource: Sendable {
  /// A token that is not the one given before, unless that cannot be.
  func token() async throws(TokenFailure) -> String
}

/// Why there is no token.
public enum TokenFailure: Error, Sendable, Hashable {
  /// Only the user can get one: sign in.
  case rejected
  /// Not now; later it may work.
  case unavailable
}

/// One token that cannot be renewed.
public struct FixedToken: TokenSource {
  private let text: String

  public init(_ text: String) {
    self.text = text
  }

  public func token() async throws(TokenFailure) -> String { text }
}

/// Keeps the present token in memory only, and knows when it ends.
actor TokenVault {
  private let source: any TokenSource
  private let clock: @Sendable () -> Timestamp
  private(set) var token: String?
  private var renewal: Task<Link.CredentialsEvent, Never>?
  private var tell: (@Sendable (Link.CredentialsEvent) async -> Void)?

  init(_ source: any TokenSource, clock: @escaping @Sendable () -> Timestamp) {
    self.source = source
    self.clock = clock
  }

  /// Says who must know of a token that was got without being asked for.
  func connect(_ tell: @escaping @Sendable (Link.CredentialsEvent) async -> Void) {
    self.tell = tell
  }

  /// Forgets the token, and whom to tell: the stream has ended.
  func end() {
    token = nil
    tell = nil
  }

  /// The present token, or the first one: requests may come before a link ever wants to open.
  func first() async throws(LinkFailure) -> String {
    if let token { return token }
    let event = await refresh()
    if let token {
      await tell?(event)
      return token
    }
    // The link hears of this as of any refusal, and asks again before it gives up.
    switch event {
    case .rejected, .cleared: throw .http(status: 401, retryAfter: nil, detail: "no token")
    case .refreshFailed, .available: throw .local(detail: "there is no token yet")
    }
  }

  /// Gets a token and says what the link must know of it; one at a time, for all who ask.
  func refresh() async -> Link.CredentialsEvent {
    if let renewal { return await renewal.value }
    let renewal = Task { await self.renew() }
    self.renewal = renewal
    let event = await renewal.value
    self.renewal = nil
    return event
  }

  private func renew() async -> Link.CredentialsEvent {
    let next: String
    do throws(TokenFailure) {
      next = try await source.token()
    } catch {
      switch error {
      case .rejected: return .rejected
      case .unavailable: return .refreshFailed
      }
    }
    // A source that has nothing but the token that was refused cannot help.
    if next == token { return .rejected }
    token = next
    return .available(expiresIn: expiry(of: next).map { clock().duration(to: $0) })
  }

  /// When a JWT says that it ends (RFC 7519 section 4.1.4); `nil` for any other token.
  private func expiry(of token: String) -> Timestamp? {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return nil }
    var reader = JSONReader(payload)
    do throws(JSONError) {
      try reader.beginObject()
      while let key = try reader.nextKey() {
        guard reader.matches(key, "exp") else {
          try reader.skipValue()
          continue
        }
        let seconds = try reader.double()
        guard seconds > 0, seconds < 9_000_000_000 else { return nil }
        return Timestamp(nanoseconds: Int64(seconds) * 1_000_000_000)
      }
    } catch {
      return nil
    }
    return nil
  }
}
