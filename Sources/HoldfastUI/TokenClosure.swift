public import Holdfast

/// Tokens from a closure, such as the app's own sign-in.
public struct TokenClosure: TokenSource {
  private let ask: @Sendable () async throws -> String

  /// Asks a closure for the first token, and for a new one when the old one expires or is refused.
  ///
  /// - Parameter ask: Throws `TokenFailure.rejected` if the user has to sign in again; after any
  ///   other error it is asked again later.
  public init(_ ask: @escaping @Sendable () async throws -> String) { self.ask = ask }

  public func token() async throws(TokenFailure) -> String {
    do {
      return try await ask()
    } catch let failure as TokenFailure {
      throw failure
    } catch {
      throw .unavailable
    }
  }
}
