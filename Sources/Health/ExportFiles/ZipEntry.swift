#if canImport(CHoldfastArchive)
  import CHoldfastArchive
  import HoldfastHealthSamples

  /// The export in a zip. It is identified by its contents and decompressed piece by piece.
  ///
  /// The name does not identify the export, because phones translate it and the zip contains
  /// another XML file.
  @safe final class ZipEntry {
    /// The number of bytes that are read to identify the kind of a file.
    private static let head = 4_096
    /// The number of bytes of the zip that are read at a time.
    private static let block = 256 << 10

    private let archive: OpaquePointer
    /// The file. It keeps the descriptor open that the archive reads from.
    private let file: PlainFile
    /// The bytes that were read to identify the entry, until they are returned.
    private var start: [UInt8] = []
    private(set) var name: String?
    private(set) var size: Int?
    /// The number of files that were found so far.
    private var files = 0
    /// The name of the first symbolic link.
    private var link: String?

    /// Opens a zip at its only export. It reads the open file from the beginning, even if the file
    /// was renamed.
    convenience init(_ file: PlainFile) throws(ExportFileError) {
      let search = try ZipEntry(opening: file)
      guard try search.next(among: { _ in true }) else {
        if let link = search.link { throw .linked(name: link) }
        throw .noExport(files: search.files)
      }
      let first = search.name
      // Only XML files are examined, because thousands of routes may follow. The search ends
      // without an error if the zip is damaged.
      if (try? search.next { $0?.lowercased().hasSuffix(".xml") ?? true }) == true {
        throw .severalExports(first: first ?? "?", second: search.name ?? "?")
      }
      try self.init(opening: file)
      _ = try next(among: { _ in true })
    }

    private init(opening file: PlainFile) throws(ExportFileError) {
      try file.rewind()
      guard let archive = unsafe archive_read_new() else {
        throw .damaged(reason: "not enough memory")
      }
      unsafe self.archive = unsafe archive
      self.file = file
      unsafe archive_read_support_format_zip(archive)
      guard unsafe archive_read_open_fd(archive, file.descriptor, Self.block) == ARCHIVE_OK else {
        throw damage()
      }
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

    /// Advances to the next export among the files with matching names. Returns false if there is
    /// none.
    private func next(among isCandidate: (String?) -> Bool) throws(ExportFileError) -> Bool {
      while true {
        var entry: OpaquePointer?
        let code = unsafe archive_read_next_header(archive, &entry)
        if code == ARCHIVE_EOF { return false }
        // A warning concerns names that this process's locale cannot represent.
        guard code == ARCHIVE_OK || code == ARCHIVE_WARN, let entry = unsafe entry else {
          throw damage()
        }
        let entryName = unsafe archive_entry_pathname_utf8(entry).map { unsafe String(cString: $0) }
        // The values are S_IFREG and S_IFLNK of stat(2).
        let type = unsafe archive_entry_filetype(entry)
        if type == 0o120000 { link = link ?? entryName ?? "?" }
        guard type == 0o100000 else { continue }
        files += 1
        guard isCandidate(entryName) else { continue }
        if unsafe archive_entry_is_encrypted(entry) != 0 { throw .encrypted }
        guard try isExport() else { continue }
        name = entryName
        if unsafe archive_entry_size_is_set(entry) != 0 {
          size = Int(unsafe archive_entry_size(entry))
        }
        return true
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
      let head = start[...]
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
      return .damaged(reason: text ?? "libarchive gives no reason")
    }
  }
#else
  /// The export in a zip. There is no adapter for zips on this platform yet.
  final class ZipEntry {
    let name: String? = nil
    let size: Int? = nil

    init(_ file: PlainFile) throws(ExportFileError) {
      throw .unreadable(
        reason: "zips are not read on this platform yet; unpack it, and import the XML file in it")
    }

    func read(into buffer: inout [UInt8]) throws(ExportFileError) -> Int { 0 }
  }
#endif
