import Foundation
package import HoldfastCore
import HoldfastJSON
package import HoldfastPorts

/// A holder of the current token, in memory only. At most one renewal runs at a time.
package actor TokenVault {
  /// A function that reports the result of a renewal, and the user that the token names.
  package typealias Report = @Sendable (HeldLink.CredentialsEvent, _ user: String?) async -> Void

  private let source: TokenSource
  /// The time limit of a renewal. Later answers from the source are ignored.
  private let limit: Duration
  private let clock: any LinkClock
  package private(set) var token: String?
  /// The user that the current token names, if any.
  private var user: String?
  /// Whether the server refused the current token.
  private var refusal = Refusal.none
  private var renewal: Renewal?
  private var renewals: UInt64 = 0
  /// The last renewal whose result was reported.
  private var reported: UInt64 = 0
  private let report: Report
  private var isEnded = false

  private enum Refusal {
    case none
    /// The token is not sent again.
    case refused
    /// The source also supplied no other token, so the link has ended. If the user starts it again,
    /// the source may supply the same token once more.
    case ending
  }

  /// A pending call to the source, and the continuations that wait for its result.
  private struct Renewal {
    let id: UInt64
    let tasks: [Task<Void, Never>]
    var waiting: [CheckedContinuation<Outcome, Never>] = []
  }

  private struct Outcome: Sendable {
    let id: UInt64
    let event: HeldLink.CredentialsEvent
  }

  /// Creates a vault without a token.
  ///
  /// - Parameters:
  ///   - limit: The time limit of a renewal.
  ///   - report: A function that is called after a renewal to report the result to the link.
  package init(
    _ source: TokenSource, limit: Duration, clock: any LinkClock, report: @escaping Report
  ) {
    self.source = source
    self.limit = limit
    self.clock = clock
    self.report = report
  }

  /// Removes the token. Tokens that later requests obtain are not reported.
  package func end() {
    token = nil
    user = nil
    refusal = .none
    isEnded = true
    end(.refreshFailed())
  }

  /// Records that the server refused a token. Tokens other than the current one are ignored.
  package func refused(_ token: String?) {
    if let token, token == self.token, refusal == .none { refusal = .refused }
  }

  /// Returns whether the server refused a token, if it is the current one.
  package func hasRefused(_ token: String?) -> Bool {
    token != nil && token == self.token && refusal != .none
  }

  /// Returns the current token, or requests the first one from the source.
  ///
  /// A request can need a token before the link does. After a refusal, only the link requests
  /// another token, because it spaces the calls to the source.
  ///
  /// - Throws: `.http` with status 401 if the user must sign in again; `.local`, with the reason,
  ///   if the source supplies no token for now.
  package func first() async throws(LinkFailure) -> String {
    if let token, refusal == .none { return token }
    // The link handles a 401 like any refusal: it renews the token once before it signs the user
    // out.
    if token != nil, renewal == nil {
      throw .http(status: 401, retryAfter: nil, detail: "the token was refused before")
    }
    let outcome = await refresh()
    if let token, refusal == .none {
      if !isEnded { await tell(outcome) }
      return token
    }
    switch outcome.event {
    case .rejected, .cleared:
      throw .http(status: 401, retryAfter: nil, detail: "the user must sign in")
    case .refreshFailed(let detail): throw .local(detail: detail ?? "there is no token yet")
    case .available: throw .local(detail: "there is no token any more")
    }
  }

  /// Requests a new token, and reports the result.
  package func renew() async { await tell(await refresh()) }

  /// Reports the result of a renewal, unless another caller has reported it.
  ///
  /// A second report would make the link take a refused token for an older one.
  private func tell(_ outcome: Outcome) async {
    guard reported < outcome.id else { return }
    reported = outcome.id
    await report(outcome.event, user)
  }

  /// Requests a new token. Concurrent callers share one call to the source.
  private func refresh() async -> Outcome {
    await withCheckedContinuation { continuation in
      if renewal == nil { renewal = begin() }
      renewal?.waiting.append(continuation)
    }
  }

  private func begin() -> Renewal {
    renewals += 1
    let id = renewals
    let deadline = clock.now.advanced(by: limit)
    // A separate task enforces the limit, because a source may never return.
    let asking = Task { [weak self, source] in
      do throws(TokenFailure) {
        let token = try await source.token()
        await self?.answered(id, .success(token))
      } catch {
        await self?.answered(id, .failure(error))
      }
    }
    let timing = Task { [weak self, clock, limit] in
      guard (try? await clock.wait(until: deadline)) != nil else { return }
      let late = "the source did not answer within \(limit.text)"
      await self?.answered(id, .failure(.unavailable(detail: late)))
    }
    return Renewal(id: id, tasks: [asking, timing])
  }

  private func answered(_ id: UInt64, _ answer: Result<TokenSource.Token, TokenFailure>) {
    guard renewal?.id == id else { return }
    switch answer {
    case .success(let next): end(take(next))
    case .failure(.rejected): end(.rejected)
    case .failure(.unavailable(let detail)): end(unavailable(detail))
    }
  }

  private func end(_ event: HeldLink.CredentialsEvent) {
    guard let ended = renewal else { return }
    renewal = nil
    for task in ended.tasks { task.cancel() }
    let outcome = Outcome(id: ended.id, event: event)
    for waiter in ended.waiting { waiter.resume(returning: outcome) }
  }

  private func take(_ next: TokenSource.Token) -> HeldLink.CredentialsEvent {
    // The source may return the current token again. That token is useless if it was refused;
    // otherwise, it is still valid.
    if next.text == token, refusal != .ending {
      guard refusal == .refused else {
        return unavailable("the source returned the current token again")
      }
      refusal = .ending
      return .rejected
    }
    token = next.text
    refusal = .none
    let claims = TokenClaims(next.text)
    user = claims.user
    let end = if let date = next.expiresAt { Self.timestamp(of: date) } else { claims.expiresAt }
    return .available(expiresIn: end.map { clock.wall.duration(to: $0) })
  }

  /// Returns the event for a renewal that failed. The current token is removed from the text.
  private func unavailable(_ detail: String) -> HeldLink.CredentialsEvent {
    let failure = TokenFailure.unavailable(detail: detail)
    return .refreshFailed(
      detail: Redaction([token].compactMap(\.self)).clean(failure.description))
  }

  /// Returns the timestamp of a date. Returns `nil` for a date such as `Date.distantFuture`, which
  /// a source uses for a token that does not expire.
  private static func timestamp(of date: Date) -> Timestamp? {
    date.timeIntervalSince1970 < 9_000_000_000 ? Timestamp(date) : nil
  }
}

/// The unverified claims of a JWT. For other kinds of tokens they are empty.
///
/// Only the issuer and the server can verify a token. The server repeats every check that depends
/// on these claims.
struct TokenClaims: Sendable, Hashable {
  /// The time at which the token expires (RFC 7519 section 4.1.4).
  private(set) var expiresAt: Timestamp?
  /// The user that the token names (RFC 7519 section 4.1.2).
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
