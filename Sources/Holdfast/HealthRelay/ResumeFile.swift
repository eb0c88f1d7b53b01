public import LinkCore
public import LinkWire
import OwnerFiles

/// The file that keeps a relay's resume token beside its data, so that a pull finds it after the
/// app was ended.
///
/// It is for its owner only (0600). Where the system has a keychain, that is the better place.
public struct ResumeFile: Sendable, Hashable {
  private let file: OwnerFile

  /// `DIRECTORY/resume`.
  public var path: String { file.path }

  /// Names the file in a directory. A token has some 40 bytes; more than 1,024 are refused.
  public init(in directory: String) {
    file = OwnerFile(directory + "/resume", maxBytes: 1_024, isSecret: true)
  }

  /// Returns the token that is kept, if there is one.
  ///
  /// - Throws: `.denied` if others than its owner can read or change it, or it cannot be read.
  public func read() throws(StoreFailure) -> Secret? {
    guard let bytes = try attempt({ file throws(OwnerFileError) in try file.read() }) else {
      return nil
    }
    let text = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }
    return text.isEmpty ? nil : Secret(String(text))
  }

  /// Keeps a token in place of the one before; `nil` removes it. Durable when it returns.
  ///
  /// - Throws: `.denied` or `.full` if it cannot be written.
  public func write(_ token: Secret?) throws(StoreFailure) {
    try attempt { file throws(OwnerFileError) in
      guard let token else { return try file.remove() }
      try file.replace(with: Array((token.text + "\n").utf8))
    }
  }

  private func attempt<Value>(
    _ body: (OwnerFile) throws(OwnerFileError) -> Value
  ) throws(StoreFailure) -> Value {
    do throws(OwnerFileError) {
      return try body(file)
    } catch {
      throw StoreFailure(error, at: path)
    }
  }
}
