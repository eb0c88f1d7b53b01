public import LinkCore
public import LinkWire
import OwnerFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// Keeps a relay's resume token beside its data, so that a pull finds it after the app was ended.
///
/// For its owner's eyes (0600). Where the system has a keychain, that is the better place.
public struct ResumeFile: Sendable, Hashable {
  /// `DIRECTORY/resume`.
  public let path: String
  /// A token has some 40 bytes.
  private static let maxBytes = 1_024

  /// Names the file in a directory that is there.
  public init(in directory: String) {
    path = directory + "/resume"
  }

  /// What is kept; `nil` when nothing is.
  ///
  /// - Throws: `.denied` when others than its owner can read or change it, or it cannot be read.
  public func read() throws(StoreFailure) -> Secret? {
    let bytes: [UInt8]?
    do {
      bytes = try OwnerFile.read(path, maxBytes: Self.maxBytes, isSecret: true)
    } catch {
      throw .denied(detail: "\(path): \(error)")
    }
    guard let bytes else { return nil }
    let text = String(decoding: bytes, as: UTF8.self).prefix { !$0.isNewline }
    return text.isEmpty ? nil : Secret(String(text))
  }

  /// Keeps a token in the place of the one before; `nil` keeps none.
  ///
  /// - Throws: `.denied` when it cannot be written.
  public func write(_ token: Secret?) throws(StoreFailure) {
    guard let token else {
      guard unsafe unlink(path) == 0 || errno == ENOENT else { throw denied("remove") }
      return
    }
    let draft = "\(path).\(getpid())"
    unsafe unlink(draft)
    let descriptor = unsafe open(draft, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0o600)
    guard descriptor >= 0 else { throw denied("create") }
    let bytes = Array((token.text + "\n").utf8)
    let isWritten = Self.writeSome(descriptor, bytes) == bytes.count
    close(descriptor)
    guard isWritten, unsafe rename(draft, path) == 0 else {
      let failure = denied("write")
      unsafe unlink(draft)
      throw failure
    }
  }

  private func denied(_ action: String) -> StoreFailure {
    .denied(detail: "\(path): cannot \(action) it: \(unsafe String(cString: strerror(errno)))")
  }

  private static func writeSome(_ descriptor: Int32, _ bytes: [UInt8]) -> Int {
    #if canImport(Glibc)
      unsafe Glibc.write(descriptor, bytes, bytes.count)
    #else
      unsafe Darwin.write(descriptor, bytes, bytes.count)
    #endif
  }
}
