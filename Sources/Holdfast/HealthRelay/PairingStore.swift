public import HoldfastCore
import HoldfastPorts
public import HoldfastSocket

/// The store of a relay's resume token, so that a pull and the next run find it after the app has
/// ended.
///
/// The token is in the secret store of the device if the ports supply one, such as a keychain.
/// Otherwise it is in the file `DIRECTORY/resume`, which only its owner can read (0600).
public struct PairingStore: Sendable {
  private let secrets: any SecretStore

  /// Creates a reference to the stored token.
  ///
  /// - Parameters:
  ///   - directory: The directory of the file, if the ports supply no secret store. A token has
  ///     about 40 bytes. Reading a file of more than 1,024 bytes fails.
  ///   - ports: The parts of the device. Only the secret store is used.
  public init(in directory: String, ports: DevicePorts = DevicePorts()) {
    secrets = ports.secrets(in: directory)
  }

  /// Returns the stored token, if there is one.
  ///
  /// - Throws: `.denied` if the token cannot be read, or if users other than its owner can read or
  ///   change the file; `.locked` if the device has not been unlocked since its start.
  public func read() throws(StoreFailure) -> Secret? { try secrets.read(.resume) }

  /// Stores a token in place of the previous one, or removes it if `token` is `nil`.
  ///
  /// The change is durable when the call returns. Background work can read the token once the
  /// device has been unlocked after its start.
  ///
  /// - Throws: `.denied`, `.full` or `.locked` if the token cannot be written.
  public func write(_ token: Secret?) throws(StoreFailure) {
    try secrets.write(token, .resume, access: .afterFirstUnlock)
  }
}
