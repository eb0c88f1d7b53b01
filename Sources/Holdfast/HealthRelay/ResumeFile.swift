import HoldfastSocket
public import LinkCore
import LinkRuntime

/// The file that keeps a relay's resume token beside its data, so that a pull finds it after the
/// app was ended.
///
/// It is for its owner only (0600). Where the system has a keychain, that is the better place.
public struct ResumeFile: Sendable, Hashable {
  private let secrets: SecretFiles

  /// `DIRECTORY/resume`.
  public var path: String { secrets.path(of: .resume) }

  /// Names the file in a directory. A token has some 40 bytes; more than 1,024 are refused.
  public init(in directory: String) { secrets = SecretFiles(in: directory) }

  /// Returns the token that is kept, if there is one.
  ///
  /// - Throws: `.denied` if others than its owner can read or change it, or it cannot be read.
  public func read() throws(StoreFailure) -> Secret? { try secrets.read(.resume) }

  /// Keeps a token in place of the one before; `nil` removes it. Durable when it returns.
  ///
  /// - Throws: `.denied` or `.full` if it cannot be written.
  public func write(_ token: Secret?) throws(StoreFailure) { try secrets.write(token, .resume) }
}
