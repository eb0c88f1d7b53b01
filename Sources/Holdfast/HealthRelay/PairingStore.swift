public import HoldfastCore
import HoldfastPorts
public import HoldfastSocket

/// The store of a relay's resume token, so that a pull and the next run find it after the app has
/// ended.
///
/// The token is in the secret store of the device if the ports supply one, such as a keychain. Its
/// name there is made from the directory, so that several pairings can share the store. Otherwise
/// the token is in the file `DIRECTORY/resume`, which only its owner can read (0600).
public struct PairingStore: Sendable {
  private let secrets: any SecretStore
  private let name: SecretName

  /// Creates a reference to the stored token.
  ///
  /// - Parameters:
  ///   - directory: The directory of the pairing. If the ports supply no secret store, the file is
  ///     in it. A token has about 40 bytes. Reading a file of more than 1,024 bytes fails.
  ///   - ports: The parts of the device. Only the secret store is used.
  public init(in directory: String, ports: DevicePorts = DevicePorts()) {
    secrets = ports.secrets(in: directory)
    name = ports.secrets == nil ? .resume : Self.name(in: directory)
  }

  /// Returns the name of the token of a directory in a store that several directories share.
  ///
  /// An update of an app may move the directory with its container, which does not change the name.
  package static func name(in directory: String) -> SecretName {
    let place = KeychainService.place(of: directory)
    let name = "\(SecretName.resume)-\(String(FNV1a.hash(place.utf8), radix: 16))"
    return SecretName(name) ?? .resume
  }

  /// Returns the stored token, if there is one.
  ///
  /// - Throws: `.denied` if the token cannot be read, or if users other than its owner can read or
  ///   change the file; `.locked` if the device has not been unlocked since its start; `.corrupt` or
  ///   `.other` if the secret store of the device fails.
  public func read() throws(StoreFailure) -> Secret? { try secrets.read(name) }

  /// Stores a token in place of the previous one, or removes it if `token` is `nil`.
  ///
  /// The change is durable when the call returns. Background work can read the token once the
  /// device has been unlocked after its start.
  ///
  /// - Throws: `.denied`, `.full`, `.locked`, `.corrupt` or `.other` if the token cannot be written.
  public func write(_ token: Secret?) throws(StoreFailure) {
    try secrets.write(token, name, access: .afterFirstUnlock)
  }
}
