import HoldfastHealthSamples
import HoldfastOwnerFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The bytes of an export: a plain `export.xml`, or the export within the zip that a phone shares.
///
/// It must not be used by two threads at the same time.
public final class ExportFile {
  private enum Content {
    case plain
    case zipped(ZipEntry)
  }

  private let file: PlainFile
  private var content: Content
  /// The number of bytes; `nil` if it is unknown.
  public let size: Int?
  /// Whether `rewind` is possible. It is not possible for a pipe.
  public let canRepeat: Bool
  /// The name of the export in the zip; `nil` if this process's locale cannot represent the name.
  public let entry: String?

  /// Opens a file and determines its kind.
  ///
  /// - Parameter timeLimit: The maximum time to wait for a program that writes to a pipe.
  /// - Throws: `.unreadable` with the system's reason, `.directory`, or `.noWriter` for a pipe that
  ///   no program writes to. For a zip: `.damaged` if it cannot be read, `.encrypted` if it needs a
  ///   password, `.noExport` or `.linked` if it contains no export, and `.severalExports` if it
  ///   contains more than one.
  public init(path: String, timeLimit: Duration = .seconds(2)) throws(ExportFileError) {
    file = try PlainFile(path: path, timeLimit: timeLimit)
    canRepeat = file.size != nil
    guard try file.isZip() else {
      content = .plain
      size = file.size
      entry = nil
      return
    }
    let zipped = try ZipEntry(file)
    content = .zipped(zipped)
    size = zipped.size
    entry = zipped.name
  }

  /// Reads the next bytes. Returns 0 at the end.
  public func read(into buffer: inout [UInt8]) throws(ExportFileError) -> Int {
    switch content {
    case .plain: try file.read(into: &buffer)
    case .zipped(let entry): try entry.read(into: &buffer)
    }
  }

  /// Continues at the first byte of the same file, even if its path now refers to another file.
  public func rewind() throws(ExportFileError) {
    switch content {
    case .plain: try file.rewind()
    case .zipped: content = .zipped(try ZipEntry(file))
    }
  }
}

/// The reason why the bytes of a file cannot be read.
public enum ExportFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The system refuses access to the file for this reason.
  case unreadable(reason: String)
  /// The path refers to a directory.
  case directory
  /// The path refers to a pipe that no program writes to.
  case noWriter
  /// The zip is damaged for this reason. No bytes after the current position can be read.
  case damaged(reason: String)
  /// The export in the zip needs a password.
  case encrypted
  /// The zip contains a symbolic link with this name, and no export.
  case linked(name: String)
  /// The zip contains this number of files, and none of them is an export.
  case noExport(files: Int)
  /// The zip contains more than one export. The names are those of the first two.
  case severalExports(first: String, second: String)

  public var description: String {
    switch self {
    case .unreadable(let reason): "it cannot be read: \(reason)"
    case .directory: "it cannot be read: it is a directory; name the zip or the XML in it"
    case .noWriter:
      "it cannot be read: it is a pipe that no program writes to; start the program that writes to "
        + "it first"
    case .damaged(let reason): "the zip is damaged: \(reason)"
    case .encrypted:
      "the zip is encrypted; unpack it with its password, and import the XML file in it"
    case .severalExports(let first, let second):
      "the zip holds more than one export, \(first) and \(second); unpack it, and import one of "
        + "them, or the older one first"
    case .linked(let name):
      "the zip holds no export, but a symbolic link, \(name); zip the file that it points to"
    case .noExport(0): "the zip is empty"
    case .noExport(let files): "the zip holds \(files) files, and none is an export of Apple Health"
    }
  }
}

extension ExportFileError {
  /// An action that resolves the error; `nil` if the description already contains it.
  public var remedy: String? {
    switch self {
    case .unreadable: "check the path and its permissions"
    case .damaged, .noExport: HealthExportError.exportAgain
    case .directory, .noWriter, .encrypted, .linked, .severalExports: nil
    }
  }
}

/// An uncompressed file, which is read from its beginning to its end.
final class PlainFile {
  let descriptor: Int32
  let size: Int?
  /// The byte that was read to detect whether a pipe has a writer, until it is returned.
  private var first: UInt8?

  init(path: String, timeLimit: Duration) throws(ExportFileError) {
    // Without O_NONBLOCK, opening a pipe that no program writes to would block forever.
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)
    guard descriptor >= 0 else { throw Self.failure(path) }
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0 else {
      let failure = Self.failure()
      close(descriptor)
      throw failure
    }
    guard found.st_mode & S_IFMT != S_IFDIR else {
      close(descriptor)
      throw .directory
    }
    size = found.st_mode & S_IFMT == S_IFREG ? Int(found.st_size) : nil
    if SystemCall.isPipe(descriptor) { try waitForWriter(timeLimit) }
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)
  }

  private func waitForWriter(_ timeLimit: Duration) throws(ExportFileError) {
    switch SystemCall.awaitWriter(of: descriptor, within: timeLimit) {
    case .readable, .silent: return
    case .read(let byte): first = byte
    case .noWriter: throw .noWriter
    case .failed(let code): throw Self.failure(code: code)
    }
  }

  deinit { close(descriptor) }

  /// Returns whether the file begins like a zip. The read position does not change.
  ///
  /// APPNOTE 6.3.10, sections 4.3.7 and 4.3.16, defines the first bytes.
  func isZip() throws(ExportFileError) -> Bool {
    guard size != nil else { return false }
    var start: (UInt8, UInt8, UInt8, UInt8) = (0, 0, 0, 0)
    let count = unsafe withUnsafeMutableBytes(of: &start) {
      unsafe pread(descriptor, $0.baseAddress, 4, 0)
    }
    guard count >= 0 else { throw Self.failure() }
    return start == (0x50, 0x4B, 3, 4) || start == (0x50, 0x4B, 5, 6)
  }

  func read(into buffer: inout [UInt8]) throws(ExportFileError) -> Int {
    if let first, !buffer.isEmpty {
      self.first = nil
      buffer[0] = first
      return 1
    }
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes { unsafe take($0) }
      if count >= 0 { return count }
      guard errno == EINTR else { throw Self.failure() }
    }
  }

  /// Continues at the first byte.
  func rewind() throws(ExportFileError) {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.failure() }
  }

  private func take(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
    unsafe systemRead(descriptor, bytes)
  }

  /// Returns the system's reason for refusing a file. If it is a symbolic link, the reason includes
  /// the target.
  private static func failure(
    _ path: String? = nil, code cause: Int32 = errno
  ) -> ExportFileError {
    let reason = SystemCall.reason(of: cause)
    guard let path, let target = target(of: path) else { return .unreadable(reason: reason) }
    return .unreadable(
      reason: cause == ELOOP
        ? "it is a symbolic link that leads back to itself"
        : "it is a symbolic link to \(target): \(reason)")
  }

  /// Returns the target of a symbolic link; `nil` if the path is not a symbolic link.
  private static func target(of path: String) -> String? {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    let room = text.count
    let count = unsafe readlink(path, &text, room)
    guard count > 0 else { return nil }
    return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// Calls read(2), which is hidden by the `read` methods of the types.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
  unsafe read(descriptor, bytes.baseAddress, bytes.count)
}
