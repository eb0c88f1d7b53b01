public import Foundation
import HoldfastProtocols

/// A source of tokens or keys, which an asynchronous closure supplies.
///
///     let tokens = TokenSource { try await signIn.accessToken() }
///
/// The closure is called for the first token, and again whenever the current token is about to
/// expire or was refused. It returns a new token then: the current one does not help, and counts as
/// a failure.
///
/// **Calls.** Each link waits for at most one call at a time. A call that takes longer than the
/// policy's `gate.refreshTimeout` (15 s) counts as failed and is canceled; a later call may begin
/// before it returns. Links that share a source call it independently. The closure runs on Swift's
/// global concurrent executor, so not on the main actor, unless it states an actor itself, as in
/// `{ @MainActor in … }`. It must not block its thread.
///
/// **Errors.** If the closure throws `TokenFailure.rejected`, the user must sign in again and no
/// further attempt is made. After any other error, the closure is called again later. The text of
/// the error becomes part of the status of a link that waits for the token, and of its journal, so
/// it must not contain secrets. It is the `errorDescription` of a `LocalizedError`, the
/// `localizedDescription` of an `NSError` or `CustomNSError` such as `URLError`, or else the error's
/// `description`.
///
/// **Expiry.** A token expires at its `expiresAt` (`expiring(_:)`) or else, if it is a JWT, at the
/// time in its claim `exp` (RFC 7519 section 4.1.4). The claim is read without verification. The
/// token is renewed `gate.refreshLead` (1 min) before that time, or after half of the remaining
/// lifetime if that is shorter than 2 min, but not within `gate.refreshTimeout` of the previous
/// renewal. A token that lives for less than this time is therefore renewed only after the server
/// refused it; a policy for such tokens sets a lower `gate.refreshTimeout`. A token without a known
/// time of expiry is also used until the server refuses it.
public struct TokenSource: Sendable {
  /// A token, and the time at which it expires if the source knows it.
  ///
  /// Its description does not contain the text.
  public struct Token: Sendable, Hashable, CustomStringConvertible {
    /// The token itself. It must not be empty, or contain a line break or another control character
    /// than a tab.
    public var text: String
    /// The time at which the token expires.
    ///
    /// If it is `nil`, the time is read from the claim `exp` of a JWT. A token of another kind then
    /// counts as valid until the server refuses it.
    public var expiresAt: Date?

    /// Creates a token.
    public init(_ text: String, expiresAt: Date? = nil) {
      (self.text, self.expiresAt) = (text, expiresAt)
    }

    /// A placeholder that never contains the text.
    public var description: String { "[token]" }
  }

  private let supply: @Sendable () async throws -> Token
  /// The mistake in the text of a fixed source; `nil` if there is none.
  private var problem: String?

  /// Creates a source of JWTs, or of tokens without a known time of expiry.
  ///
  /// - Parameter supply: A closure that returns the next token.
  public init(_ supply: @escaping @Sendable () async throws -> String) {
    self.supply = { Token(try await supply()) }
  }

  private init(tokens supply: @escaping @Sendable () async throws -> Token) {
    self.supply = supply
  }

  /// Returns a source of tokens whose time of expiry is known, such as opaque OAuth tokens.
  ///
  ///     let tokens = TokenSource.expiring {
  ///       let grant = try await signIn.grant()
  ///       return TokenSource.Token(grant.accessToken, expiresAt: grant.expiry)
  ///     }
  ///
  /// - Parameter supply: A closure that returns the next token, and the time at which it expires.
  public static func expiring(
    _ supply: @escaping @Sendable () async throws -> Token
  ) -> TokenSource {
    TokenSource(tokens: supply)
  }

  /// Returns a source of one token or key that cannot be renewed.
  public static func fixed(_ text: String) -> TokenSource {
    var source = TokenSource { text }
    source.problem = problem(of: text)
    return source
  }

  /// Checks the text of a fixed source, which no later call can replace.
  ///
  /// - Throws: `.configuration`, with the remedy, if no request can contain the text.
  package func check() throws(OpenError) {
    if let problem {
      throw .configuration("\(problem); pass a text without line breaks and control characters")
    }
  }

  /// Returns the reason why no header can contain a token (RFC 9110 section 5.5); `nil` if one can.
  private static func problem(of text: String) -> String? {
    if text.isEmpty { return "the token is empty" }
    return text.isFieldValue ? nil : "the token contains a line break or another control character"
  }

  /// Returns the next token.
  ///
  /// The closure runs on the global concurrent executor, whatever the executor of the caller.
  ///
  /// - Throws: `.rejected` if the user must sign in again; `.unavailable`, with the text of the
  ///   closure's error, if a later call may succeed.
  @concurrent package func token() async throws(TokenFailure) -> Token {
    let token: Token
    do {
      token = try await supply()
    } catch let failure as TokenFailure {
      throw failure
    } catch {
      throw .unavailable(detail: Self.text(of: error))
    }
    if let problem = Self.problem(of: token.text) { throw .unavailable(detail: problem) }
    return token
  }

  /// Returns the text of an error.
  ///
  /// The description of an `NSError` contains its `userInfo`, in which a URL with secrets in its
  /// query can be.
  private static func text(of error: any Error) -> String {
    if let text = (error as? any LocalizedError)?.errorDescription { return text }
    // On Apple platforms, a cast to `NSError` succeeds for every error.
    if error is any CustomNSError || type(of: error) is NSError.Type {
      return error.localizedDescription
    }
    return String(describing: error)
  }
}

/// The reason why a source cannot supply a token. The closure of a `TokenSource` throws it.
public enum TokenFailure: Error, Sendable, Hashable {
  /// The user must sign in again.
  case rejected
  /// A later call may succeed. The detail says why this call did not.
  case unavailable(detail: String)
}

extension TokenFailure: CustomStringConvertible, LocalizedError {
  /// A sentence that says what happened.
  public var description: String {
    switch self {
    case .rejected: "the user must sign in again"
    case .unavailable(let detail): "there is no token: \(detail)"
    }
  }

  public var errorDescription: String? { description }
}
