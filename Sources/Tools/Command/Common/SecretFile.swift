import CommandKit

/// A file that contains one secret and nothing else.
enum SecretFile {
  /// Far more than a secret needs.
  private static let maxBytes = 4_096

  /// Returns the secret: the file's content without line breaks at the end.
  ///
  /// - Parameters:
  ///   - option: The option that names the file, for errors.
  ///   - name: What the secret is called.
  static func read(
    _ path: String, option: String, _ name: String
  ) throws(CommandFailure) -> String {
    try TextFile.mustBeFile(path, option: option)
    var bytes = try TextFile.read(path, atMost: maxBytes)[...]
    while let last = bytes.last, last == 0x0A || last == 0x0D { bytes.removeLast() }
    guard !bytes.isEmpty else {
      throw CommandFailure(.failed, "\(path) is empty", remedy: "put the \(name) alone into it")
    }
    guard bytes.allSatisfy({ (0x21...0x7E).contains($0) }) else {
      throw CommandFailure(
        .failed, "\(path) does not contain a \(name) alone",
        remedy: "a \(name) is one word of visible ASCII characters, in the first line")
    }
    return String(decoding: bytes, as: UTF8.self)
  }
}
