public import LinkCore
public import LinkDriver
import OwnerFiles

/// Secrets in one file each, in a directory, readable only by their owner (0600).
///
/// The files stay readable on a device without a lock. Where the system has a keychain, prefer it.
public struct SecretFiles: SecretStore, Hashable {
  private let directory: String

  /// Creates a store in the directory, which is created when a secret is stored.
  ///
  /// Reading a secret of more than 1,024 bytes fails.
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
