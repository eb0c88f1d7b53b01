#if canImport(CHoldfastArchive)
  import CHoldfastArchive

  /// The reason why an archive cannot be written or read.
  package enum TarFailure: Error, Sendable, Hashable {
    /// The system refused a read or a write with this `errno`.
    case system(code: Int32)
    /// The content is damaged or incomplete, for this reason.
    case damaged(reason: String)
    /// A content has another size than was announced.
    case size

    /// Reads the newest error of an archive.
    fileprivate init(_ archive: OpaquePointer) {
      let code = unsafe archive_errno(archive)
      let text = unsafe archive_error_string(archive).map { unsafe String(cString: $0) }
      // libarchive's own codes are -1 and, on this platform, those of its meaning: EILSEQ and EINVAL.
      if code > 0, code != 84, code != 22 {
        self = .system(code: code)
      } else {
        self = .damaged(reason: text ?? "libarchive gives no reason")
      }
    }
  }

  /// A writer of a tar archive (pax, POSIX.1-2001), whose members are regular files (0600).
  @safe package final class TarWriter {
    private let archive: OpaquePointer
    /// The number of bytes that the member still lacks.
    private var missing = 0

    /// Begins an archive in an open file, which stays open.
    package init(to descriptor: Int32) throws(TarFailure) {
      guard let archive = unsafe archive_write_new() else {
        throw .damaged(reason: "not enough memory")
      }
      unsafe self.archive = unsafe archive
      // The last block is filled up to 10 KiB, as tar does it.
      guard unsafe archive_write_set_format_pax_restricted(archive) == ARCHIVE_OK,
        unsafe archive_write_set_bytes_per_block(archive, Int32(TarReader.block)) == ARCHIVE_OK,
        unsafe archive_write_set_bytes_in_last_block(archive, 10_240) == ARCHIVE_OK,
        unsafe archive_write_open_fd(archive, descriptor) == ARCHIVE_OK
      else { throw unsafe TarFailure(archive) }
    }

    deinit { unsafe archive_write_free(archive) }

    /// Begins a member, whose content of `size` bytes follows.
    ///
    /// - Parameter seconds: The time of its last change, in seconds since 1970.
    package func begin(_ path: String, size: Int, changedAt seconds: Int) throws(TarFailure) {
      guard let entry = unsafe archive_entry_new() else {
        throw .damaged(reason: "not enough memory")
      }
      defer { unsafe archive_entry_free(entry) }
      unsafe archive_entry_set_pathname(entry, path)
      unsafe archive_entry_set_size(entry, Int64(size))
      // S_IFREG of stat(2).
      unsafe archive_entry_set_filetype(entry, 0o100000)
      unsafe archive_entry_set_perm(entry, 0o600)
      unsafe archive_entry_set_mtime(entry, seconds, 0)
      guard unsafe archive_write_header(archive, entry) == ARCHIVE_OK else {
        throw unsafe TarFailure(archive)
      }
      missing = size
    }

    /// Adds bytes to the content of the member.
    package func add(_ bytes: ArraySlice<UInt8>) throws(TarFailure) {
      guard bytes.count <= missing else { throw .size }
      var rest = bytes
      while !rest.isEmpty {
        let count = unsafe rest.withUnsafeBytes { bytes in
          unsafe archive_write_data(archive, bytes.baseAddress, bytes.count)
        }
        guard count > 0 else { throw unsafe TarFailure(archive) }
        rest = rest.dropFirst(count)
        missing -= count
      }
    }

    /// Ends the member.
    package func end() throws(TarFailure) {
      guard missing == 0 else { throw .size }
      guard unsafe archive_write_finish_entry(archive) == ARCHIVE_OK else {
        throw unsafe TarFailure(archive)
      }
    }

    /// Ends the archive. The file is not synced.
    package func finish() throws(TarFailure) {
      guard unsafe archive_write_close(archive) == ARCHIVE_OK else {
        throw unsafe TarFailure(archive)
      }
    }
  }

  /// A reader of a tar archive without compression, from its beginning to its end.
  @safe package final class TarReader {
    /// A member of an archive.
    package struct Member: Sendable, Hashable {
      /// The path, in which invalid UTF-8 is replaced.
      package let path: String
      /// Whether it is a regular file, and no link to another member.
      package let isFile: Bool
      /// The number of bytes of its content.
      package let size: Int
    }

    /// The number of bytes that are read or written at a time.
    fileprivate static let block = 256 << 10
    private let archive: OpaquePointer

    /// Begins to read an open file, which stays open.
    package init(from descriptor: Int32) throws(TarFailure) {
      guard let archive = unsafe archive_read_new() else {
        throw .damaged(reason: "not enough memory")
      }
      unsafe self.archive = unsafe archive
      guard unsafe archive_read_support_format_tar(archive) == ARCHIVE_OK,
        unsafe archive_read_open_fd(archive, descriptor, Self.block) == ARCHIVE_OK
      else { throw unsafe TarFailure(archive) }
    }

    deinit { unsafe archive_read_free(archive) }

    /// Advances to the next member. Returns `nil` at the end.
    package func next() throws(TarFailure) -> Member? {
      var entry: OpaquePointer?
      let code = unsafe archive_read_next_header(archive, &entry)
      if code == ARCHIVE_EOF { return nil }
      // Members that this package writes cause no warnings.
      guard code == ARCHIVE_OK, let entry = unsafe entry else { throw unsafe TarFailure(archive) }
      let path = unsafe archive_entry_pathname(entry).map { unsafe String(cString: $0) }
      let isLink = unsafe archive_entry_hardlink(entry) != nil
      let isSparse = unsafe archive_entry_sparse_count(entry) > 0
      let size = unsafe archive_entry_size(entry)
      return Member(
        path: path ?? "",
        isFile: unsafe archive_entry_filetype(entry) == 0o100000 && !isLink && !isSparse,
        size: Int(clamping: size))
    }

    /// Reads the next bytes of the member. Returns 0 at its end.
    package func read(into buffer: inout [UInt8]) throws(TarFailure) -> Int {
      let count = unsafe buffer.withUnsafeMutableBytes {
        unsafe archive_read_data(archive, $0.baseAddress, $0.count)
      }
      guard count >= 0 else { throw unsafe TarFailure(archive) }
      return count
    }
  }
#endif
