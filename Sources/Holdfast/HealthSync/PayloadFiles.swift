import Foundation
import HoldfastCore
import HoldfastStorage
import HoldfastOwnerFiles

/// The files of pending batches in a data directory, and the list of the synced types.
///
/// Only their owner can read the files (0600). A file and its directory entry are durable before
/// the file is reported. Each file has a new name, so files are never changed.
struct PayloadFiles: Sendable {
  private let root: String
  private static let folder = "health-sync"
  /// The maximum size of a file. Batches are far smaller.
  private static let maxBytes = 64 << 20

  /// Creates a reference to the files in a data directory.
  init(in root: String) { self.root = root }

  /// Writes a body. Returns the path of its file, relative to the data directory.
  func write(_ bytes: [UInt8]) throws(StoreFailure) -> String {
    let path = "\(Self.folder)/batch_\(UUID128.random()).json"
    let file = file(path)
    do throws(OwnerFileError) {
      try file.replace(with: bytes)
    } catch {
      // The file may exist without being durable.
      try? file.remove()
      throw StoreFailure(error, at: file.path)
    }
    return path
  }

  /// Returns the content of a file.
  ///
  /// - Throws: An error if the file does not exist or cannot be read.
  func read(_ path: String) throws(StoreFailure) -> [UInt8] {
    guard let bytes = try find(path) else { throw .denied(detail: missing(path)) }
    return bytes
  }

  /// Returns the content of a file, or `nil` if it does not exist.
  func find(_ path: String) throws(StoreFailure) -> [UInt8]? {
    let file = file(path)
    do throws(OwnerFileError) {
      return try file.read()
    } catch {
      throw StoreFailure(error, at: file.path)
    }
  }

  /// Returns a human-readable message that a file does not exist.
  func missing(_ path: String) -> String { "\(file(path).path) does not exist." }

  /// Deletes files. Files that cannot be deleted now are deleted at the next start.
  func delete(_ paths: [String]) {
    for path in paths {
      try? FileManager.default.removeItem(atPath: file(path).path)
      forgetTicket(of: path)
    }
  }

  /// Returns the ticket of an interrupted upload, or `nil` if there is no usable one.
  func ticket(of path: String) -> UploadTicket? {
    guard let bytes = try? ticketFile(path).read() else { return nil }
    return try? UploadTicket.read(bytes)
  }

  /// Stores the ticket of an upload. Without a ticket, an interrupted upload starts again and sends
  /// all bytes.
  func keep(_ ticket: UploadTicket, of path: String) {
    try? ticketFile(path).replace(with: ticket.bytes)
  }

  /// Removes the ticket of an upload, if there is one.
  func forgetTicket(of path: String) {
    try? FileManager.default.removeItem(atPath: ticketFile(path).path)
  }

  private func ticketFile(_ path: String) -> OwnerFile {
    OwnerFile("\(root)/\(path)\(Self.ticketEnd)", maxBytes: 1 << 16, isSecret: false)
  }

  private static let ticketEnd = ".upload"

  /// Deletes files that belong to no batch. Returns the files of batches that are missing.
  ///
  /// Nothing is deleted or reported as missing if the directory cannot be read.
  func removeUnknown(_ named: Set<String>) -> Set<String> {
    let directory = "\(root)/\(Self.folder)"
    let names: [String]
    do {
      names = try FileManager.default.contentsOfDirectory(atPath: directory)
    } catch CocoaError.fileReadNoSuchFile {
      names = []
    } catch {
      return []
    }
    let found = Set(names.map { "\(Self.folder)/\($0)" })
    let tickets = named.map { $0 + Self.ticketEnd }
    delete(Array(found.subtracting(named).subtracting(tickets)))
    return named.subtracting(found)
  }

  // MARK: The synced types

  /// Stores the list of the synced types, which a launch reads before the queue is open, also
  /// before the first unlock of the device.
  ///
  /// Without the list, a launch observes nothing until the queue is open.
  func keep(asked types: [String]) {
    guard types != asked else { return }
    try? listFile.replace(with: Array(types.joined(separator: "\n").utf8))
  }

  /// The stored list of the synced types; empty if there is none or it cannot be read now.
  var asked: [String] {
    guard let bytes = try? listFile.read() else { return [] }
    return String(decoding: bytes, as: UTF8.self).split(separator: "\n").map(String.init)
  }

  /// The file of the list. It contains names of types and no health data.
  var listFile: OwnerFile {
    OwnerFile(
      "\(root)/\(Self.folder)-types", maxBytes: 1 << 16, isSecret: false,
      isReadableWhileLocked: true)
  }

  private func file(_ path: String) -> OwnerFile {
    OwnerFile("\(root)/\(path)", maxBytes: Self.maxBytes, isSecret: false)
  }
}
