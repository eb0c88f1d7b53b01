import LinkCore
import LinkRuntime
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
  /// How long one renewal may take; an answer that comes later is ignored.
  private let limit: Duration
  private let clock: any LinkClock
  private(set) var token: String?
  /// Whom the present token names, where it says so.
  private(set) var user: String?
  /// The server refused the present token.
  private var isRefused = false
  private var renewal: Renewal?
  private var renewals: UInt64 = 0
  private var tell: (@Sendable (Link.CredentialsEvent) async -> Void)?

  /// The source is asked, and these wait for what becomes of it.
  private struct Renewal {
    let id: UInt64
    let tasks: [Task<Void, Never>]
    var waiting: [CheckedContinuation<Link.CredentialsEvent, Never>] = []
  }

  init(_ source: any TokenSource, limit: Duration, clock: any LinkClock) {
    self.source = source
    self.limit = limit
    self.clock = clock
  }

  /// Says who must know of a token that was got without being asked for.
  func connect(_ tell: @escaping @Sendable (Link.CredentialsEvent) async -> Void) {
    self.tell = tell
  }

  /// Forgets the token, and whom to tell: the stream has ended.
  func end() {
    token = nil
    user = nil
    isRefused = false
    tell = nil
    end(.refreshFailed)
  }

  /// The server does not take this token; said of an older one it changes nothing.
  func refused(_ token: String?) {
    if token == self.token { isRefused = true }
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
    await withCheckedContinuation { continuation in
      if renewal == nil { renewal = begin() }
      renewal?.waiting.append(continuation)
    }
  }

  private func begin() -> Renewal {
    renewals += 1
    let id = renewals
    let deadline = clock.now.advanced(by: limit)
    // A source that never answers must not hold this.
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

  private func end(_ event: Link.CredentialsEvent) {
    guard let ended = renewal else { return }
    renewal = nil
    for task in ended.tasks { task.cancel() }
    for waiter in ended.waiting { waiter.resume(returning: event) }
  }

  private func take(_ next: String) -> Link.CredentialsEvent {
    // A source that has nothing but the token that was refused cannot help; one that was not
    // refused yet still serves until it is.
    if next == token { return isRefused ? .rejected : .refreshFailed }
    token = next
    isRefused = false
    let claims = TokenClaims(next)
    user = claims.user
    return .available(expiresIn: claims.expiresAt.map { clock.wall.duration(to: $0) })
  }
}

/// What a JWT says of itself, unverified: only its issuer and the server can check it, and nothing
/// here is decided by it that they do not decide again. Empty for any other token.
struct TokenClaims: Sendable, Hashable {
  /// When it ends (RFC 7519 section 4.1.4).
  private(set) var expiresAt: Timestamp?
  /// Whom it names (RFC 7519 section 4.1.2).
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
