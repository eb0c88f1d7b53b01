import HoldfastCore
import HoldfastPorts

/// The file with the secrets of health sync, from which the line of a user can be removed.
struct SyncSecretFile: Sendable {
  let path: String
  /// A function that changes the secrets of this process.
  let change: @Sendable ((inout SyncSecrets) -> Void) -> Void

  /// Removes the line of a user. If no user is left, a file with a new secret takes its place, as if
  /// the file had been missing.
  ///
  /// - Throws: `.denied` if the file cannot be written.
  func remove(_ user: String) throws(StoreFailure) {
    change { $0.remove(user) }
    // The file may have been read again before its line was removed.
    defer { change { $0.remove(user) } }
    let file = PrivateFile(path: path)
    do throws(BackendError) {
      guard let content = try file.read() else { return }
      if let rest = SyncSecrets.content(content, without: user) { try file.replace(with: rest) }
    } catch {
      throw .denied(
        detail: "The line of a user that is being erased cannot be removed from \(path): \(error). "
          + "Remove it yourself.")
    }
  }
}

extension SyncSecrets {
  /// Returns the content of a file without the line of a user; `nil` if it has none.
  static func content(_ content: [UInt8], without user: String) -> [UInt8]? {
    let text = String(decoding: content, as: UTF8.self)
    var (kept, names): ([Substring], Int) = ([], 0)
    var isFound = false
    for line in text.split(omittingEmptySubsequences: false, whereSeparator: \.isNewline) {
      let name = line.split { $0 == " " || $0 == "\t" }.first
      if name.map(String.init) == user {
        isFound = true
        continue
      }
      if let name, !name.hasPrefix("#") { names += 1 }
      kept.append(line)
    }
    guard isFound else { return nil }
    return names == 0 ? fresh() : Array(kept.joined(separator: "\n").utf8)
  }
}
