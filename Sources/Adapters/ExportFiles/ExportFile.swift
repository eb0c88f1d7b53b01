import LinkHealth
import OwnerFiles

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The bytes of an export: a plain `export.xml`, or the one in the zip that a phone hands over.
///
/// Not for two threads at a time.
public final class ExportFile {
  private enum Content {
    case plain
    case zipped(ZipEntry)
  }

  private let file: PlainFile
  private var content: Content
  /// How many bytes come; `nil` where that is not known.
  public let size: Int?
  /// Whether `rewind` works: not for a pipe.
  public let canRepeat: Bool
  /// What the file in the zip is called; `nil` where the locale of this process cannot spell it.
  public let entry: String?

  /// Opens a file and finds out what it is.
  ///
  /// - Parameter patience: How long a pipe may have no writer.
  /// - Throws: `.unreadable` with the system's reason, `.directory`, `.noWriter` for a pipe that no
  ///   program writes to; `.damaged` for a zip that cannot be read, `.encrypted` for one that needs
  ///   a password, `.noExport` for a zip without an export, `.severalExports` for one with more.
  public init(path: String, patience: Duration = .seconds(2)) throws(ExportFileError) {
    file = try PlainFile(path: path, patience: patience)
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

  /// Reads the next bytes; 0 at the end.
  public func read(into buffer: inout [UInt8]) throws(ExportFileError) -> Int {
    switch content {
    case .plain: try file.read(into: &buffer)
    case .zipped(let entry): try entry.read(into: &buffer)
    }
  }

  /// Begins again at the first byte: of the same file, even if its path names another one by now.
  public func rewind() throws(ExportFileError) {
    switch content {
    case .plain: try file.rewind()
    case .zipped: content = .zipped(try ZipEntry(file))
    }
  }
}

/// Why a file does not give its bytes.
public enum ExportFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The system refuses it; its reason.
  case unreadable(reason: String)
  /// It is a directory.
  case directory
  /// It is a pipe, and no program writes to it.
  case noWriter
  /// The zip is broken, from the beginning or from here on; what is wrong with it.
  case damaged(reason: String)
  /// The export in the zip needs a password.
  case encrypted
  /// The zip holds a symbolic link of this name, and no export.
  case linked(name: String)
  /// The zip holds this many files, and none is an export.
  case noExport(files: Int)
  /// The zip holds more than one export; the names of the first two.
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
  /// What to do about it; `nil` where the description says it.
  public var remedy: String? {
    switch self {
    case .unreadable: "check the path and who may read it"
    case .damaged, .noExport: HealthExportError.exportAgain
    case .directory, .noWriter, .encrypted, .linked, .severalExports: nil
    }
  }
}

/// A file as it is, read from its beginning to its end.
final class PlainFile {
  let descriptor: Int32
  let size: Int?
  /// What was read to know that a pipe has a writer, and still has to be handed out.
  private var first: UInt8?

  init(path: String, patience: Duration) throws(ExportFileError) {
    // Without O_NONBLOCK, a pipe that no program writes to would hold up the open for ever.
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
    if SystemCall.isPipe(descriptor) { try waitForWriter(patience) }
    let flags = fcntl(descriptor, F_GETFL)
    _ = fcntl(descriptor, F_SETFL, flags & ~O_NONBLOCK)
  }

  private func waitForWriter(_ patience: Duration) throws(ExportFileError) {
    switch SystemCall.awaitWriter(of: descriptor, within: patience) {
    case .readable, .silent: return
    case .read(let byte): first = byte
    case .noWriter: throw .noWriter
    case .failed(let code): throw Self.failure(code: code)
    }
  }

  deinit { close(descriptor) }

  /// Whether it begins as zips do (APPNOTE 6.3.10, sections 4.3.7 and 4.3.16), without reading on.
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

  /// Begins again at the first byte.
  func rewind() throws(ExportFileError) {
    guard lseek(descriptor, 0, SEEK_SET) == 0 else { throw Self.failure() }
  }

  private func take(_ bytes: UnsafeMutableRawBufferPointer) -> Int {
    unsafe systemRead(descriptor, bytes)
  }

  /// Why the system refuses a file; a symbolic link is named with what it points to.
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

  /// What a symbolic link points to; `nil` if the path is none.
  private static func target(of path: String) -> String? {
    var text = [CChar](repeating: 0, count: Int(PATH_MAX))
    let room = text.count
    let count = unsafe readlink(path, &text, room)
    guard count > 0 else { return nil }
    return String(decoding: text.prefix(count).map(UInt8.init(bitPattern:)), as: UTF8.self)
  }
}

/// Calls read(2): within the types, `read` is their own.
private func systemRead(_ descriptor: Int32, _ bytes: UnsafeMutableRawBufferPointer) -> Int {
  unsafe read(descriptor, bytes.baseAddress, bytes.count)
}
