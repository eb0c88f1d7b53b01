#if canImport(Glibc)
  import Glibc
#elseif canImport(Darwin)
  import Darwin
#endif

/// The bytes of an export: a plain `export.xml`, or the one in the zip that a phone hands over.
///
/// Not for two threads at a time.
public final class ExportFile {
  private enum Content {
    case plain(PlainFile)
    case zipped(ZipEntry)
  }

  private let content: Content
  /// How many bytes come; `nil` where that is not known.
  public let size: Int?
  /// What the file in the zip is called; `nil` where the locale of this process cannot spell it.
  public let entry: String?

  /// Opens a file and finds out what it is.
  ///
  /// - Throws: `.unreadable` with the system's reason, `.damaged` for a zip that cannot be read,
  ///   `.noExport` for a zip without one.
  public init(path: String) throws(ExportFileError) {
    let file = try PlainFile(path: path)
    guard try file.isZip() else {
      content = .plain(file)
      size = file.size
      entry = nil
      return
    }
    let zipped = try ZipEntry(path: path)
    content = .zipped(zipped)
    size = zipped.size
    entry = zipped.name
  }

  /// Reads the next bytes; 0 at the end.
  public func read(into buffer: inout [UInt8]) throws(ExportFileError) -> Int {
    switch content {
    case .plain(let file): try file.read(into: &buffer)
    case .zipped(let entry): try entry.read(into: &buffer)
    }
  }
}

/// Why a file does not give its bytes.
public enum ExportFileError: Error, Sendable, Hashable, CustomStringConvertible {
  /// The system refuses it; its reason.
  case unreadable(reason: String)
  /// The zip is broken, from the beginning or from here on; what is wrong with it.
  case damaged(reason: String)
  /// The zip holds this many files, and none is an export.
  case noExport(files: Int)

  public var description: String {
    switch self {
    case .unreadable(let reason): "it cannot be read: \(reason)"
    case .damaged(let reason): "the zip is damaged: \(reason)"
    case .noExport(0): "the zip is empty"
    case .noExport(let files): "the zip holds \(files) files, and none is an export of Apple Health"
    }
  }
}

/// A file as it is, read from its beginning to its end.
final class PlainFile {
  private let descriptor: Int32
  let size: Int?

  init(path: String) throws(ExportFileError) {
    descriptor = unsafe open(path, O_RDONLY | O_CLOEXEC)
    guard descriptor >= 0 else { throw Self.failure() }
    var found = stat()
    guard unsafe fstat(descriptor, &found) == 0 else {
      let failure = Self.failure()
      close(descriptor)
      throw failure
    }
    guard found.st_mode & S_IFMT != S_IFDIR else {
      close(descriptor)
      throw .unreadable(reason: "it is a directory; name the zip or the XML in it")
    }
    size = found.st_mode & S_IFMT == S_IFREG ? Int(found.st_size) : nil
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
    while true {
      let count = unsafe buffer.withUnsafeMutableBytes {
        #if canImport(Glibc)
          unsafe Glibc.read(descriptor, $0.baseAddress, $0.count)
        #else
          unsafe Darwin.read(descriptor, $0.baseAddress, $0.count)
        #endif
      }
      if count >= 0 { return count }
      guard errno == EINTR else { throw Self.failure() }
    }
  }

  private static func failure() -> ExportFileError {
    .unreadable(reason: unsafe String(cString: strerror(errno)))
  }
}
