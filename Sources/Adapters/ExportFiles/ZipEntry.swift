import CArchive
import LinkHealth

/// The export within a zip, found by what it holds, inflated piece by piece.
///
/// Phones translate the name of the file, and beside it lies another XML: names tell nothing.
@safe final class ZipEntry {
  /// Bytes that tell what a file is.
  private static let head = 4_096
  /// Bytes of the zip that are read at a time.
  private static let block = 256 << 10

  private let archive: OpaquePointer
  /// What was read to know the entry, and still has to be handed out.
  private var start: [UInt8] = []
  private(set) var name: String?
  private(set) var size: Int?

  init(path: String) throws(ExportFileError) {
    guard let archive = unsafe archive_read_new() else {
      throw .damaged(reason: "no memory for it")
    }
    unsafe self.archive = unsafe archive
    unsafe archive_read_support_format_zip(archive)
    guard unsafe archive_read_open_filename(archive, path, Self.block) == ARCHIVE_OK else {
      throw damage()
    }
    try find()
  }

  deinit {
    unsafe archive_read_free(archive)
  }

  func read(into buffer: inout [UInt8]) throws(ExportFileError) -> Int {
    guard start.isEmpty else {
      let count = min(start.count, buffer.count)
      buffer.replaceSubrange(..<count, with: start[..<count])
      start.removeFirst(count)
      return count
    }
    return try data(into: &buffer)
  }

  private func find() throws(ExportFileError) {
    var files = 0
    while true {
      var entry: OpaquePointer?
      let code = unsafe archive_read_next_header(archive, &entry)
      if code == ARCHIVE_EOF { throw .noExport(files: files) }
      // A warning is about names that this process's locale cannot spell.
      guard code == ARCHIVE_OK || code == ARCHIVE_WARN, let entry = unsafe entry else {
        throw damage()
      }
      // S_IFREG of stat(2).
      guard unsafe archive_entry_filetype(entry) == 0o100000 else { continue }
      files += 1
      guard try isExport() else { continue }
      name = unsafe archive_entry_pathname_utf8(entry).map { unsafe String(cString: $0) }
      if unsafe archive_entry_size_is_set(entry) != 0 {
        size = Int(unsafe archive_entry_size(entry))
      }
      return
    }
  }

  private func isExport() throws(ExportFileError) -> Bool {
    start = []
    var piece = [UInt8](repeating: 0, count: Self.head)
    while start.count < Self.head {
      let count = try data(into: &piece)
      if count == 0 { break }
      start += piece[..<count]
    }
    let head = start
    return HealthExportReader.isExport(head.span)
  }

  private func data(into buffer: inout [UInt8]) throws(ExportFileError) -> Int {
    let count = unsafe buffer.withUnsafeMutableBytes {
      unsafe archive_read_data(archive, $0.baseAddress, $0.count)
    }
    guard count >= 0 else { throw damage() }
    return count
  }

  private func damage() -> ExportFileError {
    let text = unsafe archive_error_string(archive).map { unsafe String(cString: $0) }
    return .damaged(reason: text ?? "libarchive does not say why")
  }
}
