import Foundation
import HoldfastCore
import HoldfastPorts

#if canImport(Glibc)
  import Glibc
#elseif canImport(Musl)
  import Musl
#elseif canImport(Android)
  import Android
#elseif canImport(Darwin)
  import Darwin
#endif

/// The files of one journal. Their I/O runs on a separate queue.
actor JournalFile<M: Journaled> {
  nonisolated let path: String
  private let limit: Int
  private var header: JournalHeader<M>
  private var descriptor: CInt = -1
  private var size = 0
  private let encoder = JSONEncoder()
  private let queue = QueueExecutor(label: "holdfast.journal")

  nonisolated var unownedExecutor: UnownedSerialExecutor {
    unsafe queue.asUnownedSerialExecutor()
  }

  init(path: String, header: JournalHeader<M>, limit: Int) {
    self.path = path
    self.header = header
    self.limit = limit
    encoder.outputFormatting = [.sortedKeys, .withoutEscapingSlashes]
  }

  deinit {
    if descriptor >= 0 { systemClose(descriptor) }
  }

  func start() throws(JournalError) {
    try EarlierRun(path: path).moveAside()
    try create()
    header.part = 1
    try put(line(of: header))
  }

  /// Writes the entries that `next` returns, and repeats this until `next` returns none.
  func write(next: @Sendable () -> [JournalEntry<M>]) throws(JournalError) {
    while true {
      let entries = next()
      guard !entries.isEmpty else { return }
      guard descriptor >= 0 else { continue }
      try write(entries)
    }
  }

  func close() {
    if descriptor >= 0 { systemClose(descriptor) }
    descriptor = -1
  }

  private func write(_ entries: [JournalEntry<M>]) throws(JournalError) {
    var bytes: [UInt8] = []
    for entry in entries {
      var lines: [UInt8] = []
      for line in entry.lines { lines += try self.line(of: line) }
      if size + bytes.count + lines.count > limit, size + bytes.count > 0 {
        try put(bytes)
        bytes = []
        try rotate()
      }
      bytes += lines
    }
    try put(bytes)
  }

  private func rotate() throws(JournalError) {
    close()
    guard unsafe rename(path, path + ".1") == 0 else { throw .cannot("rename", path) }
    try create()
    header.part += 1
    try put(line(of: header))
  }

  /// Creates the file with mode 0600, or sets this mode on an existing empty file.
  private func create() throws(JournalError) {
    let flags = O_WRONLY | O_CLOEXEC | O_NOFOLLOW | O_NONBLOCK
    descriptor = unsafe open(path, flags | O_CREAT | O_EXCL, 0o600)
    if descriptor < 0, errno == EEXIST {
      descriptor = unsafe open(path, flags)
    }
    guard descriptor >= 0 else { throw .cannot("create", path) }
    var status = stat()
    guard unsafe fstat(descriptor, &status) == 0 else { throw .cannot("look at", path) }
    guard status.st_mode & S_IFMT == S_IFREG else {
      close()
      throw JournalError(path: path, .file("it is not a regular file"))
    }
    guard fchmod(descriptor, 0o600) == 0 else { throw .cannot("restrict", path) }
    size = 0
  }

  private func line(of value: some Encodable) throws(JournalError) -> [UInt8] {
    do {
      return try [UInt8](encoder.encode(value)) + [UInt8(ascii: "\n")]
    } catch {
      throw JournalError(path: path, .line("\(error)"))
    }
  }

  private func put(_ bytes: [UInt8]) throws(JournalError) {
    var done = 0
    while done < bytes.count {
      let count = unsafe bytes.withUnsafeBytes { all in
        let rest = unsafe UnsafeRawBufferPointer(rebasing: all[done...])
        return unsafe systemWrite(descriptor, rest)
      }
      guard count > 0 else {
        if count < 0, errno == EINTR { continue }
        throw .cannot("write", path)
      }
      done += count
    }
    size += bytes.count
  }
}

/// Calls write(2). Inside the type, `write` is the type's own method; the same applies to
/// `systemClose`.
private func systemWrite(_ descriptor: CInt, _ bytes: UnsafeRawBufferPointer) -> Int {
  unsafe write(descriptor, bytes.baseAddress, bytes.count)
}

private func systemClose(_ descriptor: CInt) { _ = close(descriptor) }
