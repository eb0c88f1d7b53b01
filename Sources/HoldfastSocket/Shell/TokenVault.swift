package import LinkCore
package import LinkDriver
import LinkJSON

/// A source of tokens: the first one, and a new one whenever the old one expires or is refused.
public protocol TokenSource: Sendable {
  /// Returns a token; not the one returned before, if the source can get another.
  func token() async throws(TokenFailure) -> String
}

/// The reason why a source has no token.
public enum TokenFailure: Error, Sendable, Hashable {
  /// The user has to sign in again.
  case rejected
  /// A later call may succeed.
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

/// The present token, in memory only, and its renewal: one at a time, whatever asks for it.
package actor TokenVault {
  /// Tells of a token's renewal, and the user whom the token names.
  package typealias Tell = @Sendable (HeldLink.CredentialsEvent, _ user: String?) async -> Void

  private let source: any TokenSource
  /// The time for one renewal; a later answer of the source is ignored.
  private let limit: Duration
  private let clock: any LinkClock
  package private(set) var token: String?
  /// The user whom the present token names, if it names one.
  private var user: String?
  /// The server refused the present token.
  private var isRefused = false
  private var renewal: Renewal?
  private var renewals: UInt64 = 0
  private let tell: Tell
  private var isEnded = false

  /// A call of the source, and the continuations that wait for its outcome.
  private struct Renewal {
    let id: UInt64
    let tasks: [Task<Void, Never>]
    var waiting: [CheckedContinuation<HeldLink.CredentialsEvent, Never>] = []
  }

  /// - Parameters:
  ///   - limit: the time for one renewal.
  ///   - tell: called after a renewal, for the link to know of it.
  package init(
    _ source: any TokenSource, limit: Duration, clock: any LinkClock, tell: @escaping Tell
  ) {
    self.source = source
    self.limit = limit
    self.clock = clock
    self.tell = tell
  }

  /// Forgets the token; a token that a request gets later is not told of.
  package func end() {
    token = nil
    user = nil
    isRefused = false
    isEnded = true
    end(.refreshFailed)
  }

  /// Notes that the server refused a token; changes nothing if it is not the present one.
  package func refused(_ token: String?) {
    if token == self.token { isRefused = true }
  }

  /// Returns the present token, or gets the first one: a request may precede the link's own wish.
  package func first() async throws(LinkFailure) -> String {
    if let token { return token }
    let event = await refresh()
    if let token {
      if !isEnded { await tell(event, user) }
      return token
    }
    // The link handles this like any refusal, and refreshes once before it signs out.
    switch event {
    case .rejected, .cleared: throw .http(status: 401, retryAfter: nil, detail: "no token")
    case .refreshFailed, .available: throw .local(detail: "there is no token yet")
    }
  }

  /// Gets a new token and tells of it.
  package func renew() async { await tell(await refresh(), user) }

  /// Gets a new token; callers at the same time share one call of the source.
  private func refresh() async -> HeldLink.CredentialsEvent {
    await withCheckedContinuation { continuation in
      if renewal == nil { renewal = begin() }
      renewal?.waiting.append(continuation)
    }
  }

  private func begin() -> Renewal {
    renewals += 1
    let id = renewals
    let deadline = clock.now.advanced(by: limit)
    // Two tasks: a source may never answer.
    let asking = Task { [weak self, source] in
      do throws(TokenFailure) {
        let token = try await source.token()
        await self?.answered(id, .success(token))
      } catch {
        await self?.answered(id, .failure(error))
      }
    }
    let timing = Task { [weak self, clock] in
      guard (try? await clock.wait(until: deadline)) != nil else { return }
      await self?.answered(id, .failure(.unavailable))
    }
    return Renewal(id: id, tasks: [asking, timing])
  }

  private func answered(_ id: UInt64, _ answer: Result<String, TokenFailure>) {
    guard renewal?.id == id else { return }
    switch answer {
    case .success(let next): end(take(next))
    case .failure(.rejected): end(.rejected)
    case .failure(.unavailable): end(.refreshFailed)
    }
  }

  private func end(_ event: HeldLink.CredentialsEvent) {
    guard let ended = renewal else { return }
    renewal = nil
    for task in ended.tasks { task.cancel() }
    for waiter in ended.waiting { waiter.resume(returning: event) }
  }

  private func take(_ next: String) -> HeldLink.CredentialsEvent {
    // The same token again is of no use once it was refused; until then it still serves.
    if next == token { return isRefused ? .rejected : .refreshFailed }
    token = next
    isRefused = false
    let claims = TokenClaims(next)
    user = claims.user
    return .available(expiresIn: claims.expiresAt.map { clock.wall.duration(to: $0) })
  }
}

/// The claims of a JWT, unverified; empty for any other token.
///
/// Only its issuer and the server can verify it. They check again whatever depends on it here.
struct TokenClaims: Sendable, Hashable {
  /// The time at which it expires (RFC 7519 section 4.1.4).
  private(set) var expiresAt: Timestamp?
  /// The user that it names (RFC 7519 section 4.1.2).
  private(set) var user: String?

  init(_ token: String) {
    let parts = token.split(separator: ".", omittingEmptySubsequences: false)
    guard parts.count == 3, let payload = Base64URL.decode(parts[1]) else { return }
    var found = self
    if (try? found.read(payload)) != nil { self = found }
  }

  private mutating func read(_ payload: [UInt8]) throws(JSONError) {
    var reader = JSONReader(payload)
    try reader.beginObject()
    while let key = try reader.nextKey() {
      if reader.matches(key, "exp"), try reader.peek() == .number {
        let seconds = try reader.double()
        guard seconds > 0, seconds < 9_000_000_000 else { continue }
        expiresAt = Timestamp(nanoseconds: Int64(seconds) * 1_000_000_000)
      } else if reader.matches(key, "sub"), try reader.peek() == .string {
        let subject = try reader.string()
        user = subject.isEmpty ? nil : subject
      } else {
        try reader.skipValue()
      }
    }
    try reader.finish()
  }
}
