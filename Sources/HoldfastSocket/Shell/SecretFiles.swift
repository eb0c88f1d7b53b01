public import HoldfastCore
import HoldfastOwnerFiles
public import HoldfastPorts

/// A store that keeps each secret in its own file, readable only by the file's owner (0600).
///
/// The files remain readable while the device is locked. Prefer a keychain if the system has one.
public struct SecretFiles: SecretStore, Hashable {
  private let directory: String

  /// Creates a store in a directory. The directory is created when the first secret is stored.
  ///
  /// Reading fails if a secret's file is larger than 1,024 bytes.
  public init(in directory: String) { self.directory = directory }

  /// Returns the path of a secret's file.
  public func path(of name: SecretName) -> String { file(name).path }

  public func read(_ name: SecretName) throws(StoreFailure) -> Secret? {
    let bytes = try attempt(name) { file throws(OwnerFileError) in try file.read() }
    let text = String(decoding: bytes ?? [], as: UTF8.self).prefix { !$0.isNewline }
    return text.isEmpty ? nil : Secret(String(text))
  }

  public func write(
    _ secret: Secret?, _ name: SecretName, access: SecretAccess = .afterFirstUnlock
  ) throws(StoreFailure) {
    try attempt(name) { file throws(OwnerFileError) in
      guard let secret else { return try file.remove() }
      try file.replace(with: Array((secret.text + "\n").utf8))
    }
  }

  private func file(_ name: SecretName) -> OwnerFile {
    OwnerFile("\(directory)/\(name)", maxBytes: 1_024, isSecret: true)
  }

  private func attempt<Value>(
    _ name: SecretName, _ body: (OwnerFile) throws(OwnerFileError) -> Value
  ) throws(StoreFailure) -> Value {
    let file = file(name)
    do throws(OwnerFileError) {
      return try body(file)
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }
}
